package delivery

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/sha256"

	"berth/domain/fault"
)

// SealArchive encrypts a package by its link, of which only a hash is kept: the enrolment token within is then in no
// database in the clear, nor in a copy of one (K1). A link is of one package, so that its key seals one text.
func SealArchive(link string, archive []byte) ([]byte, error) {
	aead, err := archiveCipher(link)
	if err != nil {
		return nil, err
	}
	return aead.Seal(nil, make([]byte, aead.NonceSize()), archive, nil), nil //nolint:gosec // no key seals a second text
}

// OpenArchive is the package that was sealed by the link. Fault: Internal package_unreadable where it was not.
func OpenArchive(link string, sealed []byte) ([]byte, error) {
	aead, err := archiveCipher(link)
	if err != nil {
		return nil, err
	}
	archive, err := aead.Open(nil, make([]byte, aead.NonceSize()), sealed, nil)
	if err != nil {
		return nil, unreadablePackage(err)
	}
	return archive, nil
}

func archiveCipher(link string) (cipher.AEAD, error) {
	mac := hmac.New(sha256.New, []byte("berth/package-archive/v1"))
	_, _ = mac.Write([]byte(link)) // a hash never fails to write
	block, err := aes.NewCipher(mac.Sum(nil))
	if err != nil {
		return nil, unreadablePackage(err)
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		return nil, unreadablePackage(err)
	}
	return aead, nil
}

func unreadablePackage(err error) error {
	return fault.New(fault.Internal, "package_unreadable", "the package can not be read").Because(err)
}

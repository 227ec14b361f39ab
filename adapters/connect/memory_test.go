package connect_test

const childVariable = "BERTH_CONNECT_CHILD"

func child() {}

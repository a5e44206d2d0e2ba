// The door for threads that only send and receive datagrams: they do without the rest of this room, which takes some MiB in each.
export { type ConnectedDatagram, ConnectedDatagrams } from './connected-datagram.ts'
export { type Datagram, DatagramBatch, readSource } from './datagram-batch.ts'
export { type DatagramEvents, DatagramSweep } from './datagram-sweep.ts'
export { addressBytes as sourceBytes } from './socket-calls.ts'

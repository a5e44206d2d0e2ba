import { networkInterfaces } from 'node:os'
import { bigIntToIp, type Ip, ipFamily, parseIp } from '../../model/ip.ts'
import { knownFfi } from '../ffi.ts'
import {
  addressBytes,
  addressLength,
  addressLengthOf,
  datagramSocket,
  dontWait,
  family,
  familyOf,
  findSocketCalls,
  type SocketCalls,
  socketAddress,
  socketOption,
} from './socket-calls.ts'

type Ffi = typeof import('node:ffi')

// These structures hold on Linux for 64-bit little-endian machines.
/** `struct mmsghdr`: its size, and where its fields begin. */
const header = { bytes: 64, addressLength: 8, iov: 16, iovCount: 24, length: 56 } as const
/** `struct iovec`: where the bytes are, and how many. */
const iovBytes = 16
/** `struct sock_fprog`: the number of instructions, and where they are. */
const programHeader = { bytes: 16, pointer: 8, instructionBytes: 8 } as const
/** Largest possible datagram. */
const receivedBytes = 65_536
const sentBytes = 4_096

/** Number of datagrams per system call. */
const batchSize = 64

/** One of the datagrams that `receive` read; valid until the next `receive`. */
export interface Datagram {
  /** Buffer whose first `length` bytes are the datagram. */
  readonly bytes: Buffer
  readonly length: number
  /** Source address; a link-local one has its link: `fe80::1%eth0`. */
  readonly address: string
  readonly port: number
}

/**
 * One UDP socket that reads and answers many datagrams per system call (recvmmsg, sendmmsg), in reused memory: Node's own sockets take a
 * call and several objects for each datagram. `node:dgram` reports that datagrams wait: `fd` is for its `bind({ fd })`, and it then owns
 * and closes the socket.
 */
export class DatagramBatch {
  readonly fd: number
  readonly datagrams: readonly Datagram[]
  readonly #ffi: Ffi
  readonly #calls: SocketCalls
  readonly #isIpv6: boolean
  readonly #in: Slots
  readonly #out: Slots
  #answers = 0

  /** Opens a batch; undefined if the system calls cannot be reached (no `node:ffi`, another kernel or machine) or the address cannot be bound. */
  static open(address: Ip, port: number): DatagramBatch | undefined {
    const ffi = knownFfi()
    if (ffi === undefined) return undefined
    const calls = findSocketCalls(ffi)
    const fd = openSocket(calls, ffi, address, port)
    return fd === -1 ? undefined : new DatagramBatch(ffi, calls, fd, address)
  }

  private constructor(ffi: Ffi, calls: SocketCalls, fd: number, address: Ip) {
    this.fd = fd
    this.#ffi = ffi
    this.#calls = calls
    this.#isIpv6 = ipFamily(address) === 'IPv6'
    this.#in = new Slots(ffi, receivedBytes)
    this.#out = new Slots(ffi, sentBytes)
    this.datagrams = Array.from({ length: batchSize }, (_, index) => new Slot(this.#in, index))
  }

  /**
   * Has the kernel choose among the sockets of the shared port by a program of classic BPF; it gives the number of a socket, in the order in which
   * they were bound. Returns false where the kernel does not take it.
   */
  steer(program: Buffer): boolean {
    const pointers = { program: this.#ffi.getRawPointer(program), whole: Buffer.alloc(programHeader.bytes) }
    pointers.whole.writeUInt16LE(program.length / programHeader.instructionBytes)
    pointers.whole.writeBigUInt64LE(pointers.program, programHeader.pointer)
    const [level, name] = socketOption.steerReusePort
    const { setsockopt } = this.#calls
    return setsockopt(this.fd, level, name, this.#ffi.getRawPointer(pointers.whole), programHeader.bytes) === 0
  }

  /** Reads waiting datagrams into `datagrams` and returns their number, 0 if none wait. */
  receive(): number {
    if (this.#answers > 0) this.send()
    this.#in.offerAddresses()
    return Math.max(0, this.#calls.recvmmsg(this.fd, this.#in.pointer, batchSize, dontWait, 0n))
  }

  /** Returns the buffer for the next answer. Sends the queued ones where they fill the batch. */
  get answer(): Buffer {
    if (this.#answers === batchSize) this.send()
    return this.#out.bytes(this.#answers)
  }

  /** Queues the first `length` bytes of `answer` for the source of that datagram; `send` sends them. */
  reply(index: number, length: number): void {
    this.#out.address(this.#answers, this.#in, index)
    this.#out.setLengths(this.#answers, length, this.#isIpv6 ? addressLength.ipv6 : addressLength.ipv4)
    this.#answers += 1
  }

  /** Copies the source of that datagram, for an answer after the next `receive`. */
  sourceOf(index: number): Buffer {
    return this.#in.copyAddress(index)
  }

  /** Makes the source of a datagram that Node delivered; undefined for an address with its link. */
  sourceFor({ address, port }: { readonly address: string; readonly port: number }): Buffer | undefined {
    const ip = parseIp(address)
    return ip === undefined ? undefined : socketAddress(ip, port)
  }

  /** Queues an answer for a source of `sourceOf` or `sourceFor`; `send` sends it, and so does the next `receive`. Returns false where it is too long. */
  replyTo(source: Buffer, answer: Buffer): boolean {
    if (answer.length > sentBytes) return false
    answer.copy(this.answer)
    this.queue(source, answer.length)
    return true
  }

  /** Queues the first `length` bytes of `answer` for a source, like `replyTo`. */
  queue(source: Buffer, length: number): void {
    this.#out.setAddress(this.#answers, source)
    this.#out.setLengths(this.#answers, length, this.#isIpv6 ? addressLength.ipv6 : addressLength.ipv4)
    this.#answers += 1
  }

  /** Sends the queued answers. One that the kernel refuses is dropped, like a packet in a full network. */
  send(): void {
    for (let done = 0; done < this.#answers; ) {
      const rest = this.#out.pointer + BigInt(done * header.bytes)
      const taken = this.#calls.sendmmsg(this.fd, rest, this.#answers - done, dontWait)
      done += Math.max(1, taken)
    }
    this.#answers = 0
  }
}

class Slot implements Datagram {
  readonly bytes: Buffer
  readonly #slots: Slots
  readonly #index: number

  constructor(slots: Slots, index: number) {
    this.bytes = slots.bytes(index)
    this.#slots = slots
    this.#index = index
  }

  get length(): number {
    return this.#slots.length(this.#index)
  }

  get port(): number {
    return portAt(this.#slots.addresses, this.#index * addressBytes)
  }

  get address(): string {
    return addressAt(this.#slots.addresses, this.#index * addressBytes)
  }
}

/** Returns address and port of a source of `sourceOf`. */
export function readSource(source: Buffer): Pick<Datagram, 'address' | 'port'> {
  return { address: addressAt(source, 0), port: portAt(source, 0) }
}

function portAt(addresses: Buffer, at: number): number {
  return addresses.readUInt16BE(at + 2)
}

function addressAt(addresses: Buffer, at: number): string {
  if (addresses.readUInt16LE(at) !== family.ipv6) return ipv4Text(addresses.readUInt32BE(at + 4))
  const ip = bigIntToIp(BigInt(`0x${addresses.toString('hex', at + 8, at + 24)}`), 'IPv6')
  const link = addresses.readUInt32LE(at + 24)
  return link === 0 ? ip : `${ip}%${linkName(link)}`
}

const maxTexts = 4096
const ipv4Texts = new Map<number, string>()

/** Returns the text of an IPv4 address. Texts are remembered, because the same clients ask again and again. */
function ipv4Text(value: number): string {
  const known = ipv4Texts.get(value)
  if (known !== undefined) return known
  const text = `${value >>> 24}.${(value >>> 16) & 0xff}.${(value >>> 8) & 0xff}.${value & 0xff}`
  if (ipv4Texts.size >= maxTexts) ipv4Texts.clear()
  ipv4Texts.set(value, text)
  return text
}

/** Memory for a batch of datagrams, their addresses, and the kernel's headers that point to both. */
class Slots {
  readonly addresses = Buffer.alloc(batchSize * addressBytes)
  readonly pointer: bigint
  readonly #slots: readonly Buffer[]
  readonly #headers = Buffer.alloc(batchSize * header.bytes)
  readonly #headerWords: Uint32Array
  readonly #iovs = Buffer.alloc(batchSize * iovBytes)
  readonly #iovWords: Uint32Array

  /** Buffers of the largest size; pages that are never written take no memory. */
  constructor(ffi: Ffi, slotBytes: number) {
    const memory = Buffer.allocUnsafeSlow(batchSize * slotBytes)
    this.#slots = Array.from({ length: batchSize }, (_, index) =>
      memory.subarray(index * slotBytes, (index + 1) * slotBytes),
    )
    this.pointer = ffi.getRawPointer(this.#headers)
    for (const [index, slot] of this.#slots.entries()) {
      const at = index * header.bytes
      this.#iovs.writeBigUInt64LE(ffi.getRawPointer(slot), index * iovBytes)
      this.#iovs.writeBigUInt64LE(BigInt(slotBytes), index * iovBytes + 8)
      this.#headers.writeBigUInt64LE(ffi.getRawPointer(this.addresses) + BigInt(index * addressBytes), at)
      this.#headers.writeBigUInt64LE(ffi.getRawPointer(this.#iovs) + BigInt(index * iovBytes), at + header.iov)
      this.#headers.writeBigUInt64LE(1n, at + header.iovCount)
    }
    this.#headerWords = new Uint32Array(this.#headers.buffer, this.#headers.byteOffset, this.#headers.length / 4)
    this.#iovWords = new Uint32Array(this.#iovs.buffer, this.#iovs.byteOffset, this.#iovs.length / 4)
  }

  /** Restores the address sizes, which the kernel overwrites with the lengths that it used. */
  offerAddresses(): void {
    for (let index = 0; index < batchSize; index += 1)
      this.#headerWords[(index * header.bytes + header.addressLength) / 4] = addressBytes
  }

  bytes(index: number): Buffer {
    const slot = this.#slots[index]
    if (slot === undefined) throw new RangeError(`a batch has ${batchSize} datagrams, not ${index + 1}`)
    return slot
  }

  length(index: number): number {
    return this.#headerWords[(index * header.bytes + header.length) / 4] ?? 0
  }

  setLengths(index: number, bytes: number, address: number): void {
    this.#iovWords[(index * iovBytes + 8) / 4] = bytes
    this.#headerWords[(index * header.bytes + header.addressLength) / 4] = address
  }

  copyAddress(index: number): Buffer {
    return Buffer.from(this.addresses.subarray(index * addressBytes, (index + 1) * addressBytes))
  }

  setAddress(index: number, address: Buffer): void {
    address.copy(this.addresses, index * addressBytes)
  }

  /** Copies the address of a datagram of another batch. */
  address(index: number, from: Slots, fromIndex: number): void {
    const start = fromIndex * addressBytes
    from.addresses.copy(this.addresses, index * addressBytes, start, start + addressBytes)
  }
}

/** Returns the name of the link of a link-local address. */
function linkName(index: number): string {
  const found = Object.entries(networkInterfaces()).find(([, own = []]) =>
    own.some((address) => address.family === 'IPv6' && address.scopeid === index),
  )
  return found?.[0] ?? String(index)
}

/** Opens a socket that is bound to the address and shares its port; -1 on failure. */
function openSocket(calls: SocketCalls, ffi: Ffi, address: Ip, port: number): number {
  const isIpv6 = ipFamily(address) === 'IPv6'
  const fd = calls.socket(familyOf(address), datagramSocket, 0)
  if (fd === -1) return -1
  const on = Buffer.alloc(addressBytes)
  on.writeUInt32LE(1)
  const set = ([level, name]: readonly [number, number]) =>
    calls.setsockopt(fd, level, name, ffi.getRawPointer(on), 4) === 0
  const place = socketAddress(address, port)
  const isBound =
    set(socketOption.reusePort) &&
    (!isIpv6 || set(socketOption.v6Only)) &&
    calls.bind(fd, ffi.getRawPointer(place), addressLengthOf(address)) === 0
  if (isBound) return fd
  calls.close(fd)
  return -1
}

import { rmSync } from 'node:fs'
import { knownFfi } from './ffi.ts'

type Ffi = typeof import('node:ffi')
type Calls = ReturnType<typeof findCalls>

// These constants and structures hold on Linux for 64-bit little-endian machines: socket.h, un.h.
/** AF_UNIX */
const unixFamily = 1
/** SOCK_STREAM, SOCK_NONBLOCK and SOCK_CLOEXEC. */
const socketType = 1 | 0o4_000 | 0o2_000_000
/** SOCK_NONBLOCK and SOCK_CLOEXEC for `accept4`. */
const acceptFlags = 0o4_000 | 0o2_000_000
/** MSG_NOSIGNAL */
const noSignal = 0x4000
/** MSG_CMSG_CLOEXEC */
const closeOnExec = 0x4000_0000
/** `struct sockaddr_un`: its size, and where the path begins. */
const address = { bytes: 110, path: 2 } as const
/** `struct msghdr`: its size, and where its fields begin. */
const message = { bytes: 56, iov: 16, iovCount: 24, control: 32, controlLength: 40 } as const
/** `struct cmsghdr`: its size, and where its fields begin; SOL_SOCKET and SCM_RIGHTS. */
const control = { bytes: 16, level: 8, type: 12, socketLevel: 1, rights: 1 } as const
/** AF_INET and AF_INET6. */
const internetFamilies: readonly number[] = [2, 10]
/** SCM_MAX_FD: descriptors that one message may have (unix(7)). */
const maxDescriptors = 253
const maxBytes = 4096
/** Connections that may wait to be accepted. */
const backlog = 4

export interface PassedMessage {
  /** Empty at the end of the connection. */
  readonly bytes: Buffer
  /** Open descriptors that now belong to this process; none is inherited by programs. */
  readonly descriptors: readonly number[]
}

/** A stream socket of unix(7) that passes open descriptors (SCM_RIGHTS), which Node's own sockets drop. No call waits. */
export class DescriptorSocket {
  readonly #ffi: Ffi
  readonly #calls: Calls
  readonly #fd: number

  /** Connects to a path; undefined if no process listens there or the system calls cannot be reached. */
  static connect(path: string): DescriptorSocket | undefined {
    return DescriptorSocket.#open(path, (calls, fd, name) => calls.connect(fd, name, address.bytes) === 0)
  }

  /** Listens on a path, in place of what was there, for processes of this user; undefined as for `connect`. */
  static listen(path: string): DescriptorSocket | undefined {
    rmSync(path, { force: true })
    return DescriptorSocket.#open(path, (calls, fd, name) => {
      // On Linux the mode of the descriptor is that of the file it is bound to.
      const isBound = calls.fchmod(fd, 0o600) === 0 && calls.bind(fd, name, address.bytes) === 0
      return isBound && calls.listen(fd, backlog) === 0
    })
  }

  static #open(path: string, use: (calls: Calls, fd: number, name: Buffer) => boolean): DescriptorSocket | undefined {
    const ffi = knownFfi()
    const name = addressOf(path)
    if (ffi === undefined || name === undefined) return undefined
    const calls = findCalls(ffi)
    const fd = calls.socket(unixFamily, socketType, 0)
    if (fd === -1) return undefined
    if (use(calls, fd, name)) return new DescriptorSocket(ffi, calls, fd)
    calls.close(fd)
    return undefined
  }

  private constructor(ffi: Ffi, calls: Calls, fd: number) {
    this.#ffi = ffi
    this.#calls = calls
    this.#fd = fd
  }

  /** Takes a waiting connection; undefined if there is none. */
  accept(): DescriptorSocket | undefined {
    const fd = this.#calls.accept4(this.#fd, null, null, acceptFlags)
    return fd === -1 ? undefined : new DescriptorSocket(this.#ffi, this.#calls, fd)
  }

  /** Sends bytes with descriptors, at most 253; returns whether all were taken. This process keeps its own descriptors. */
  send(bytes: Buffer, descriptors: readonly number[] = []): boolean {
    if (descriptors.length > maxDescriptors) return false
    const rights = Buffer.alloc(control.bytes + descriptors.length * 4)
    rights.writeBigUInt64LE(BigInt(rights.length), 0)
    rights.writeInt32LE(control.socketLevel, control.level)
    rights.writeInt32LE(control.rights, control.type)
    for (const [index, fd] of descriptors.entries()) rights.writeInt32LE(fd, control.bytes + index * 4)
    const parts = this.#parts(bytes, descriptors.length === 0 ? undefined : rights)
    return Number(this.#calls.sendmsg(this.#fd, parts.header, noSignal)) === bytes.length
  }

  /** Reads at most `limit` bytes (4096 unless given); undefined if none wait. */
  receive(limit = maxBytes): PassedMessage | undefined {
    const bytes = Buffer.alloc(Math.min(limit, maxBytes))
    const rights = Buffer.alloc(control.bytes + maxDescriptors * 4)
    const parts = this.#parts(bytes, rights)
    const length = Number(this.#calls.recvmsg(this.#fd, parts.header, closeOnExec))
    if (length < 0) return undefined
    const used = Number(parts.header.readBigUInt64LE(message.controlLength))
    return { bytes: bytes.subarray(0, length), descriptors: readRights(rights.subarray(0, used)) }
  }

  close(): void {
    this.#calls.close(this.#fd)
  }

  /** Makes a header; the result keeps alive what the header points to. */
  #parts(bytes: Buffer, rights: Buffer | undefined): { readonly header: Buffer; readonly kept: readonly unknown[] } {
    const iov = Buffer.alloc(16)
    iov.writeBigUInt64LE(this.#ffi.getRawPointer(bytes), 0)
    iov.writeBigUInt64LE(BigInt(bytes.length), 8)
    const header = Buffer.alloc(message.bytes)
    header.writeBigUInt64LE(this.#ffi.getRawPointer(iov), message.iov)
    header.writeBigUInt64LE(1n, message.iovCount)
    if (rights !== undefined) {
      header.writeBigUInt64LE(this.#ffi.getRawPointer(rights), message.control)
      header.writeBigUInt64LE(BigInt(rights.length), message.controlLength)
    }
    return { header, kept: [iov, bytes, rights] }
  }
}

/** Tells whether a descriptor of this process is a socket of IPv4 or IPv6. */
export function isInternetSocket(fd: number): boolean {
  const ffi = knownFfi()
  if (ffi === undefined) return false
  const name = Buffer.alloc(address.bytes)
  const length = Buffer.alloc(4)
  length.writeUInt32LE(name.length)
  return findCalls(ffi).getsockname(fd, name, length) === 0 && internetFamilies.includes(name.readUInt16LE(0))
}

function addressOf(path: string): Buffer | undefined {
  const name = Buffer.alloc(address.bytes)
  if (Buffer.byteLength(path) >= address.bytes - address.path) return undefined
  name.writeUInt16LE(unixFamily, 0)
  name.write(path, address.path)
  return name
}

function readRights(rights: Buffer): readonly number[] {
  if (rights.length < control.bytes || rights.readInt32LE(control.type) !== control.rights) return []
  const end = Math.min(rights.length, Number(rights.readBigUInt64LE(0)))
  const descriptors: number[] = []
  for (let at = control.bytes; at + 4 <= end; at += 4) descriptors.push(rights.readInt32LE(at))
  return descriptors
}

/** Loads functions of this process' C library. */
function findCalls(ffi: Ffi) {
  return ffi.dlopen(null, {
    socket: { return: 'i32', arguments: ['i32', 'i32', 'i32'] },
    connect: { return: 'i32', arguments: ['i32', 'pointer', 'u32'] },
    bind: { return: 'i32', arguments: ['i32', 'pointer', 'u32'] },
    fchmod: { return: 'i32', arguments: ['i32', 'u32'] },
    listen: { return: 'i32', arguments: ['i32', 'i32'] },
    accept4: { return: 'i32', arguments: ['i32', 'pointer', 'pointer', 'i32'] },
    sendmsg: { return: 'i64', arguments: ['i32', 'pointer', 'i32'] },
    recvmsg: { return: 'i64', arguments: ['i32', 'pointer', 'i32'] },
    getsockname: { return: 'i32', arguments: ['i32', 'pointer', 'pointer'] },
    close: { return: 'i32', arguments: ['i32'] },
  }).functions
}

import { knownFfi } from './ffi.ts'

type Ffi = typeof import('node:ffi')
type Calls = ReturnType<typeof findCalls>

// These constants and structures hold on Linux for 64-bit little-endian machines: socket.h, fcntl.h, linux/netlink.h.
/** AF_NETLINK and NETLINK_NETFILTER. */
const family = { netlink: 16, netfilter: 12 } as const
/** SOCK_RAW, SOCK_NONBLOCK and SOCK_CLOEXEC. */
const socketType = 3 | 0o4_000 | 0o2_000_000
/** `struct nlmsghdr`: its size, and where its fields begin. */
const header = { bytes: 16, type: 4, flags: 6, sequence: 8 } as const
/** NLM_F_REQUEST and NLM_F_ACK. */
const flags = 1 | 4
/** NLMSG_ERROR; it holds an errno, or 0 for a request that was carried out, and the header of the request. */
const answerType = 2
/** More than an answer with its request. */
const answerBytes = 8_192
/** Answers to earlier requests that may still wait. */
const maxStaleAnswers = 16

/**
 * A socket to the kernel's packet filter in the network namespace in which it was opened. The kernel carries a request out
 * within the system call, so an answer takes some ten microseconds, where a program takes milliseconds.
 */
export class NetfilterSocket {
  readonly #calls: Calls
  readonly #fd: number
  readonly #answer = Buffer.alloc(answerBytes)
  #sequence = 0

  /** Opens a socket; undefined if the system calls cannot be reached or the kernel refuses. */
  static open(): NetfilterSocket | undefined {
    const ffi = knownFfi()
    if (ffi === undefined) return undefined
    const calls = findCalls(ffi)
    const fd = calls.socket(family.netlink, socketType, family.netfilter)
    return fd === -1 ? undefined : new NetfilterSocket(calls, fd)
  }

  private constructor(calls: Calls, fd: number) {
    this.#calls = calls
    this.#fd = fd
  }

  /** Returns whether the kernel has carried the request out. After false it may have done so all the same. */
  request({ type, payload }: { readonly type: number; readonly payload: Buffer }): boolean {
    const bytes = Buffer.alloc(header.bytes + payload.length)
    this.#sequence = (this.#sequence + 1) >>> 0
    bytes.writeUInt32LE(bytes.length, 0)
    bytes.writeUInt16LE(type, header.type)
    bytes.writeUInt16LE(flags, header.flags)
    bytes.writeUInt32LE(this.#sequence, header.sequence)
    payload.copy(bytes, header.bytes)
    const sent = Number(this.#calls.send(this.#fd, bytes, BigInt(bytes.length), 0))
    return sent === bytes.length && this.#isCarriedOut()
  }

  #isCarriedOut(): boolean {
    for (let attempt = 0; attempt <= maxStaleAnswers; attempt++) {
      const length = Number(this.#calls.recv(this.#fd, this.#answer, BigInt(answerBytes), 0))
      if (length < header.bytes + 4) return false
      if (this.#answer.readUInt32LE(header.sequence) !== this.#sequence) continue
      return this.#answer.readUInt16LE(header.type) === answerType && this.#answer.readInt32LE(header.bytes) === 0
    }
    return false
  }

  close(): void {
    this.#calls.close(this.#fd)
  }
}

/** Loads functions of this process' C library. */
function findCalls(ffi: Ffi) {
  return ffi.dlopen(null, {
    socket: { return: 'i32', arguments: ['i32', 'i32', 'i32'] },
    send: { return: 'i64', arguments: ['i32', 'pointer', 'u64', 'i32'] },
    recv: { return: 'i64', arguments: ['i32', 'pointer', 'u64', 'i32'] },
    close: { return: 'i32', arguments: ['i32'] },
  }).functions
}

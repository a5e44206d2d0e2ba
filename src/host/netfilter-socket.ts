import { write } from 'node:fs'
import { promisify } from 'node:util'
import { TimeSlice } from '../loop/time-slice.ts'
import { knownFfi } from './ffi.ts'

const writeAsync = promisify(write)

type Ffi = typeof import('node:ffi')
type Calls = ReturnType<typeof findCalls>

interface Request {
  readonly type: number
  readonly payload: Buffer
  /** Makes what it names where that is not there (NLM_F_CREATE). */
  readonly creates?: true
}

// These constants and structures hold on Linux for 64-bit little-endian machines: socket.h, fcntl.h, linux/netlink.h.
/** AF_NETLINK and NETLINK_NETFILTER. */
const family = { netlink: 16, netfilter: 12 } as const
/** SOCK_RAW, SOCK_NONBLOCK and SOCK_CLOEXEC. */
const socketType = 3 | 0o4_000 | 0o2_000_000
/** `struct nlmsghdr`: its size, and where its fields begin. */
const header = { bytes: 16, type: 4, flags: 6, sequence: 8 } as const
/** NLM_F_REQUEST, alone and with NLM_F_ACK or NLM_F_DUMP; NLM_F_CREATE. */
const flags = { ask: 1, acknowledge: 1 | 4, list: 1 | 0x300, create: 0x400 } as const
/** NFNL_MSG_BATCH_BEGIN and NFNL_MSG_BATCH_END of linux/netfilter/nfnetlink.h; `struct nfgenmsg` has the subsystem in the order of the network. */
const batchTypes = { begin: 0x10, end: 0x11 } as const
/** NFNL_SUBSYS_NFTABLES */
const nftables = 10
/** `struct sockaddr_nl`: its size, and where the port is. */
const socketName = { bytes: 12, port: 4 } as const
const enoent = 2
/** NLMSG_ERROR; it holds an errno, or 0 for a request that was carried out, and the header of the request. */
const answerType = 2
/** NLMSG_DONE ends a list; it holds an errno or 0. */
const endType = 3
/** MSG_TRUNC: `recv` returns the length of what it had no room for too. */
const wholeLength = 0x20
/** The kernel fills what a receiver has room for, up to 32 KiB. */
const listBytes = 32_768
/** More than an answer with its request. */
const answerBytes = 8_192
/** More than a batch has messages, so that none waits for the next request. */
const maxBatchAnswers = 1_000
/** Answers to earlier requests that may still wait. */
const maxStaleAnswers = 16

/** The end of a list. `missing`: what it should list does not exist. */
export type ListEnd = 'complete' | 'missing' | 'failed'

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
    const fd = openSocket(calls)
    return fd === -1 ? undefined : new NetfilterSocket(calls, fd)
  }

  private constructor(calls: Calls, fd: number) {
    this.#calls = calls
    this.#fd = fd
  }

  /** Returns whether the kernel has carried the request out, or answered `toleratedErrno`. After false it may have done so all the same. */
  request(request: Request, toleratedErrno = 0): boolean {
    if (!this.#send(this.#fd, request, flags.acknowledge)) return false
    const errno = this.#receiveErrno()
    return errno === 0 || errno === toleratedErrno
  }

  /**
   * Carries out messages to nftables as one transaction; returns whether the kernel has confirmed it. After false nothing of it stands, or
   * it is not known whether all of it does.
   */
  commit(messages: readonly Request[]): boolean {
    const { bytes, first, count } = this.#encodeBatch(messages)
    return this.#sendBytes(this.#fd, bytes) && this.#isConfirmed(first, count)
  }

  /**
   * Like `commit`, in a thread of Node's pool: this one goes on while the kernel works, for some milliseconds at thousands of elements. Nothing else may be
   * asked by this socket meanwhile.
   */
  async commitApart(messages: readonly Request[]): Promise<boolean> {
    const { bytes, first, count } = this.#encodeBatch(messages)
    const sent = await writeAsync(this.#fd, bytes).catch(() => undefined)
    return sent?.bytesWritten === bytes.length && this.#isConfirmed(first, count)
  }

  #encodeBatch(messages: readonly Request[]) {
    const edge = Buffer.from([0, 0, 0, nftables])
    const first = this.#sequence + 1
    const last = messages.length - 1
    const parts = [
      this.#encode({ type: batchTypes.begin, payload: edge }, flags.ask),
      ...messages.map((message, index) =>
        this.#encode(message, (index === last ? flags.acknowledge : flags.ask) | (message.creates ? flags.create : 0)),
      ),
      this.#encode({ type: batchTypes.end, payload: edge }, flags.ask),
    ]
    return { bytes: Buffer.concat(parts), first, count: parts.length }
  }

  /** The port of the socket, by which the kernel names who made a commit; undefined where that cannot be read. */
  get portId(): number | undefined {
    const [name, length] = [Buffer.alloc(socketName.bytes), Buffer.alloc(4)]
    length.writeUInt32LE(socketName.bytes)
    const port = this.#calls.getsockname(this.#fd, name, length) === 0 ? name.readUInt32LE(socketName.port) : 0
    return port === 0 ? undefined : port
  }

  /** Returns the object that the kernel answers with, without netlink's header; undefined where there is none. */
  ask(request: Request): Buffer | undefined {
    if (!this.#send(this.#fd, request, flags.ask)) return undefined
    const answer = this.#receiveAnswer()
    return answer === undefined || answer.readUInt16LE(header.type) === answerType
      ? undefined
      : Buffer.from(answer.subarray(header.bytes))
  }

  /**
   * Hands over each object of a list without netlink's header; its memory is used again after `take` returns. The list has a socket of its own, so
   * requests may go on meanwhile. `take` ends it with false.
   */
  async list(request: Request, take: (payload: Buffer) => boolean): Promise<ListEnd> {
    const fd = openSocket(this.#calls)
    if (fd === -1) return 'failed'
    try {
      return this.#send(fd, request, flags.list) ? await this.#receiveList(fd, take) : 'failed'
    } finally {
      this.#calls.close(fd)
    }
  }

  #send(fd: number, request: Request, flagBits: number): boolean {
    return this.#sendBytes(fd, this.#encode(request, flagBits))
  }

  #sendBytes(fd: number, bytes: Buffer): boolean {
    return Number(this.#calls.send(fd, bytes, BigInt(bytes.length), 0)) === bytes.length
  }

  #encode({ type, payload }: Request, flagBits: number): Buffer {
    const bytes = Buffer.alloc(header.bytes + payload.length)
    this.#sequence = (this.#sequence + 1) >>> 0
    bytes.writeUInt32LE(bytes.length, 0)
    bytes.writeUInt16LE(type, header.type)
    bytes.writeUInt16LE(flagBits, header.flags)
    bytes.writeUInt32LE(this.#sequence, header.sequence)
    payload.copy(bytes, header.bytes)
    return bytes
  }

  /** The kernel has answered within the call: a message that failed, and the one that asked for it, each by an errno. All answers are read. */
  #isConfirmed(firstSequence: number, count: number): boolean {
    let isAcknowledged = false
    let hasFailed = false
    for (let answers = 0; answers < maxBatchAnswers; answers++) {
      const length = Number(this.#calls.recv(this.#fd, this.#answer, BigInt(answerBytes), 0))
      if (length < header.bytes + 4) break
      const isOfBatch = (this.#answer.readUInt32LE(header.sequence) - firstSequence) >>> 0 < count
      if (!isOfBatch || this.#answer.readUInt16LE(header.type) !== answerType) continue
      if (this.#answer.readInt32LE(header.bytes) === 0) isAcknowledged = true
      else hasFailed = true
    }
    return isAcknowledged && !hasFailed
  }

  #receiveErrno(): number | undefined {
    const answer = this.#receiveAnswer()
    const isErrno = answer?.readUInt16LE(header.type) === answerType
    return answer !== undefined && isErrno ? -answer.readInt32LE(header.bytes) : undefined
  }

  /** Returns the message that answers the last request, in memory that the next one uses again. */
  #receiveAnswer(): Buffer | undefined {
    for (let attempt = 0; attempt <= maxStaleAnswers; attempt++) {
      const length = Number(this.#calls.recv(this.#fd, this.#answer, BigInt(answerBytes), 0))
      if (length < header.bytes + 4) return undefined
      if (this.#answer.readUInt32LE(header.sequence) === this.#sequence)
        return this.#answer.subarray(0, Math.min(length, this.#answer.readUInt32LE(0)))
    }
    return undefined
  }

  /** The kernel makes the next part of the list within each call. */
  async #receiveList(fd: number, take: (payload: Buffer) => boolean): Promise<ListEnd> {
    const slice = new TimeSlice()
    const bytes = Buffer.alloc(listBytes)
    for (;;) {
      const length = Number(this.#calls.recv(fd, bytes, BigInt(listBytes), wholeLength))
      if (length <= 0 || length > listBytes) return 'failed'
      const state = readPart(bytes.subarray(0, length), take)
      if (state !== 'more') return state
      if (slice.spent) await slice.pause()
    }
  }

  close(): void {
    this.#calls.close(this.#fd)
  }
}

function openSocket(calls: Calls): number {
  return calls.socket(family.netlink, socketType, family.netfilter)
}

function readPart(bytes: Buffer, take: (payload: Buffer) => boolean): ListEnd | 'more' {
  for (let at = 0; at < bytes.length; ) {
    const length = at + header.bytes + 4 > bytes.length ? 0 : bytes.readUInt32LE(at)
    if (length < header.bytes + 4 || at + length > bytes.length) return 'failed'
    const type = bytes.readUInt16LE(at + header.type)
    const payload = bytes.subarray(at + header.bytes, at + length)
    if (type === endType || type === answerType) return endOf(payload.readInt32LE(0), type)
    if (!take(payload)) return 'failed'
    at += (length + 3) & ~3
  }
  return 'more'
}

/** A list that cannot begin is answered by an errno alone. */
function endOf(negativeErrno: number, type: number): ListEnd {
  if (negativeErrno === -enoent) return 'missing'
  return negativeErrno === 0 && type === endType ? 'complete' : 'failed'
}

/** Loads functions of this process' C library. */
function findCalls(ffi: Ffi) {
  return ffi.dlopen(null, {
    socket: { return: 'i32', arguments: ['i32', 'i32', 'i32'] },
    send: { return: 'i64', arguments: ['i32', 'pointer', 'u64', 'i32'] },
    recv: { return: 'i64', arguments: ['i32', 'pointer', 'u64', 'i32'] },
    close: { return: 'i32', arguments: ['i32'] },
    getsockname: { return: 'i32', arguments: ['i32', 'pointer', 'pointer'] },
  }).functions
}

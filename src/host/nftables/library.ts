import { readdirSync } from 'node:fs'
import { knownFfi } from '../ffi.ts'
import { NetfilterSocket } from '../netfilter-socket.ts'
import type { QuickWriter } from './quick-writer.ts'

type Ffi = typeof import('node:ffi')
type Library = NonNullable<ReturnType<typeof findFunctions>>
type Calls = ReturnType<typeof findCalls>

/** 3,000 elements, which hold the thread for some ten milliseconds. */
const maxLength = 131_072
/** Enough to say why; the library repeats whole lines. */
const maxErrorBytes = 4_096
/** AF_NETLINK */
const netlinkFamily = 16
/** `struct sockaddr_nl`: its size, and where the port is. */
const socketName = { bytes: 12, port: 4 } as const

/** nft's own library in this process (libnftables(3)): a transaction costs some ten microseconds. Each call is synchronous. */
export class NftLibrary implements QuickWriter {
  readonly kind = 'library'
  readonly maxLength = maxLength
  readonly #ffi: Ffi
  readonly #library: Library
  readonly #calls: Calls
  #context = 0n
  #portId: number | undefined

  /** Returns undefined where the library is missing, lacks a function, or does not answer as expected. */
  static open(file = 'libnftables.so.1'): NftLibrary | undefined {
    const ffi = knownFfi()
    const library = ffi && findFunctions(ffi, file)
    if (ffi === undefined || library === undefined || !canOpenSocket()) return undefined
    const made = new NftLibrary(ffi, library)
    if (made.#begin()) return made
    void made.close()
    return undefined
  }

  private constructor(ffi: Ffi, library: Library) {
    this.#ffi = ffi
    this.#library = library
    this.#calls = findCalls(ffi)
  }

  /** The library opens a socket with the context; the kernel gives it a port with its first message. */
  #begin(): boolean {
    const before = this.#netlinkPorts()
    this.#context = this.#library.nft_ctx_new(0)
    if (this.#context === 0n || !this.#answersAsExpected()) return false
    const ports = [...this.#netlinkPorts()].flatMap(([fd, port]) => (before.has(fd) ? [] : [port]))
    this.#portId = ports.length === 1 ? ports[0] : undefined
    return true
  }

  get portId(): number | undefined {
    return this.#portId
  }

  async attempt(commands: string): Promise<string | undefined> {
    return this.#run(commands)
  }

  async close(): Promise<void> {
    if (this.#context !== 0n) this.#library.nft_ctx_free(this.#context)
    this.#context = 0n
  }

  /** Another version of the library is trusted if it tells a failure from a success. */
  #answersAsExpected(): boolean {
    const { nft_ctx_buffer_output: bufferOutput, nft_ctx_buffer_error: bufferError } = this.#library
    if (bufferOutput(this.#context) !== 0 || bufferError(this.#context) !== 0) return false
    const failure = this.#run('delete element ip platnet-none none { 1 }\n')
    return failure !== undefined && /Error: /.test(failure) && this.#run('describe inet_proto\n') === undefined
  }

  #run(commands: string): string | undefined {
    const status = this.#library.nft_run_cmd_from_buffer(this.#context, Buffer.from(`${commands}\0`))
    return status === 0 ? undefined : this.#readError()
  }

  #readError(): string {
    const text = this.#library.nft_ctx_get_error_buffer(this.#context)
    if (text === 0n) return ''
    const length = Math.min(Number(this.#calls.strlen(text)), maxErrorBytes)
    return length === 0 ? '' : this.#ffi.toBuffer(text, length).toString()
  }

  /** Ports of this process' netlink sockets by descriptor; 0 before a socket's first message. */
  #netlinkPorts(): ReadonlyMap<number, number> {
    const found = readdirSync('/proc/self/fd').flatMap((name) => {
      const port = this.#portOf(Number(name))
      return port === undefined ? [] : [[Number(name), port] as const]
    })
    return new Map(found)
  }

  #portOf(fd: number): number | undefined {
    const [name, length] = [Buffer.alloc(socketName.bytes), Buffer.alloc(4)]
    length.writeUInt32LE(socketName.bytes)
    const isNetlink = this.#calls.getsockname(fd, name, length) === 0 && name.readUInt16LE(0) === netlinkFamily
    return isNetlink ? name.readUInt32LE(socketName.port) : undefined
  }
}

/** The library ends the process where it gets no socket. */
function canOpenSocket(): boolean {
  const socket = NetfilterSocket.open()
  socket?.close()
  return socket !== undefined
}

function findFunctions(ffi: Ffi, file: string) {
  const onContext = { return: 'i32', arguments: ['pointer'] } as const
  try {
    return ffi.dlopen(file, {
      nft_ctx_new: { return: 'pointer', arguments: ['u32'] },
      nft_ctx_free: { return: 'void', arguments: ['pointer'] },
      nft_ctx_buffer_output: onContext,
      nft_ctx_buffer_error: onContext,
      nft_ctx_get_error_buffer: { return: 'pointer', arguments: ['pointer'] },
      nft_run_cmd_from_buffer: { return: 'i32', arguments: ['pointer', 'pointer'] },
    }).functions
  } catch {
    return undefined
  }
}

/** Loads functions of this process' C library. */
function findCalls(ffi: Ffi) {
  return ffi.dlopen(null, {
    strlen: { return: 'u64', arguments: ['pointer'] },
    getsockname: { return: 'i32', arguments: ['i32', 'pointer', 'pointer'] },
  }).functions
}

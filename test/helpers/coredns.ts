import { type ChildProcess, spawn } from 'node:child_process'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { existsSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { TestContext } from 'node:test'
import { rcode } from '../../src/node/dns/wire/codes.ts'
import { type DnsMessage, readMessage } from '../../src/node/dns/wire/message.ts'
import { makeQuery } from './dns-messages.ts'
import { findFreePort } from './free-port.ts'
import { makeTemporaryFolder } from './temporary-folder.ts'
import { untilAsync } from './until.ts'

const program = resolve(import.meta.dirname, '../../.cache/peer/coredns')

/** Why tests against CoreDNS cannot run here; undefined where they can. */
export function lackOfCoredns(): string | undefined {
  return existsSync(program) ? undefined : 'CoreDNS is not built: sh bench/dns/build-peer.sh'
}

/** An unmodified CoreDNS on a port of the loopback. */
export class Coredns {
  readonly port: number

  private constructor(port: number) {
    this.port = port
  }

  /** `directives` stand in a server block for the root; resolves once it answers `ready` with something else than SERVFAIL. */
  static start(test: TestContext, directives: string, ready: string): Promise<Coredns> {
    return Coredns.startWith(test, (port) => `.:${port} {\n  bind 127.0.0.1\n${directives}\n}\n`, ready)
  }

  /** The same with a whole Corefile, made for the port. */
  static async startWith(test: TestContext, makeText: (port: number) => string, ready: string): Promise<Coredns> {
    const port = await findFreePort()
    const file = join(makeTemporaryFolder(test), 'Corefile')
    writeFileSync(file, makeText(port))
    const child = spawn(program, ['-conf', file], { stdio: 'ignore' })
    test.after(() => end(child))
    const coredns = new Coredns(port)
    await untilAsync('CoreDNS answers', async () => isGood(await coredns.#try(ready, 1, 200)), 60_000)
    return coredns
  }

  /** An answer over UDP with room for 4096 bytes; a datagram may get lost, and is then sent again. */
  async ask(name: string, type: number): Promise<DnsMessage> {
    for (let attempt = 0; attempt < 20; attempt++) {
      const message = await this.#try(name, type, 2000)
      if (message !== undefined) return message
    }
    throw new Error(`CoreDNS does not answer ${name}`)
  }

  async #try(name: string, type: number, waitMs: number): Promise<DnsMessage | undefined> {
    const socket = createSocket('udp4')
    socket.on('error', () => {})
    const signal = AbortSignal.timeout(waitMs)
    const answered = once(socket, 'message', { signal }).catch(() => undefined)
    socket.send(makeQuery(name, type, { edns: { udpSize: 4096 } }), this.port, '127.0.0.1')
    const [bytes] = ((await answered) ?? []) as Buffer[]
    socket.close()
    return bytes === undefined ? undefined : readMessage(bytes, bytes.length)
  }
}

function isGood(message: DnsMessage | undefined): boolean {
  return message !== undefined && message.rcode !== rcode.SERVFAIL
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return
  const ended = once(child, 'exit')
  child.kill('SIGKILL')
  await ended
}

import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { testToken } from './api-server.ts'

interface Line {
  readonly event: 'asked' | 'listed' | 'synced' | 'added' | 'updated' | 'deleted' | 'written'
  readonly name?: string
  readonly color?: string
  readonly url?: string
  readonly error?: string
}

/** A program that follows objects with a client library, obeys lines and prints what it sees as lines of JSON; its token is in its environment. */
export class InformerProgram {
  readonly lines: Line[] = []
  readonly #child: ChildProcess
  #wake = Promise.withResolvers<void>()

  constructor(file: string, args: readonly string[]) {
    this.#child = spawn(file, args, {
      env: { TOKEN: testToken },
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    assert.ok(this.#child.stdout)
    createInterface({ input: this.#child.stdout }).on('line', (line) => {
      this.lines.push(JSON.parse(line))
      this.#wake.resolve()
      this.#wake = Promise.withResolvers()
    })
  }

  asked(): readonly string[] {
    return this.lines.flatMap(({ event, url }) => (event === 'asked' && url !== undefined ? [url] : []))
  }

  async write(command: string): Promise<void> {
    const before = this.lines.filter(({ event }) => event === 'written').length
    this.#child.stdin?.write(`${command}\n`)
    await this.until(() => this.lines.filter(({ event }) => event === 'written').length > before)
    const written = this.lines.findLast(({ event }) => event === 'written')
    assert.equal(written?.error, undefined, command)
  }

  async until(isIt: (line: Line) => boolean): Promise<void> {
    const deadline = AbortSignal.timeout(30_000)
    const late = new Promise<never>((_, reject) => {
      deadline.addEventListener('abort', () => reject(new Error(`not seen in ${JSON.stringify(this.lines)}`)))
    })
    while (!this.lines.some(isIt)) await Promise.race([this.#wake.promise, late])
  }

  stop(): void {
    this.#child.kill('SIGKILL')
  }
}

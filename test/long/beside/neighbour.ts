import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import type { RunningProgram } from '../../../src/host/index.ts'
import { skipReason, type TestNetns } from '../../helpers/netns.ts'

/** The root that `make-root.sh` makes. */
const root =
  process.env['PLATNET_BESIDE_ROOT'] ?? fileURLToPath(new URL('../../../.cache/beside-root', import.meta.url))

/** Why the program cannot run here; false where it can. */
export function whyNot(file: string): string | false {
  if (!existsSync(`${root}${file}`)) return `needs ${file} in a root: sh test/long/beside/make-root.sh ${root}`
  return skipReason('iptables-nft', 'nft', 'ipset', 'conntrack', 'unshare')
}

/** A shell in that root, in the network namespace of a node: what it starts ends with it. */
export class NeighbourShell {
  readonly #program: RunningProgram
  readonly #lines: AsyncIterator<string>

  private constructor(program: RunningProgram) {
    this.#program = program
    this.#lines = createInterface({ input: program.stdout ?? assert.fail() })[Symbol.asyncIterator]()
  }

  static async start(node: TestNetns): Promise<NeighbourShell> {
    const enter = fileURLToPath(new URL('./enter-root.sh', import.meta.url))
    const args = ['--mount', '--pid', '--fork', '--kill-child', 'sh', enter, root]
    return new NeighbourShell(await node.start('unshare', args, { stdin: 'pipe', stdout: 'pipe', stderr: 'inherit' }))
  }

  /** Runs a command and returns what it prints; fails with it unless it exits 0. */
  async run(command: string): Promise<string> {
    this.#program.stdin?.write(
      `( ${command}\n) </dev/null >/tmp/said 2>&1; code=$?; cat /tmp/said; echo; echo "end $code"\n`,
    )
    const said: string[] = []
    for (;;) {
      const { value, done } = await this.#lines.next()
      if (done) assert.fail(`the shell ended at: ${command}\n${said.join('\n')}`)
      const [, code] = /^end (\d+)$/.exec(value) ?? []
      if (code === undefined) said.push(value)
      else if (code === '0') return said.join('\n').trim()
      else assert.fail(`exit ${code}: ${command}\n${said.join('\n')}`)
    }
  }
}

import path from 'node:path'
import { createInterface } from 'node:readline'
import type { RunningProgram } from '../../src/host/index.ts'
import type { NodeLab } from './node-lab.ts'

const listener = path.resolve(import.meta.dirname, '../../src/host/nft-events.pl')

/** Counts the commits of all programs to nf_tables in the namespace of a node. */
export class CommitCount {
  readonly #program: RunningProgram
  #commits = 0

  static async start(lab: NodeLab): Promise<CommitCount> {
    const program = await lab.start('perl', [listener])
    const { promise, resolve } = Promise.withResolvers<void>()
    const count = new CommitCount(program, resolve)
    await promise
    return count
  }

  private constructor(program: RunningProgram, onListening: () => void) {
    this.#program = program
    if (program.stdout === null) throw new Error('the program has no standard output here')
    createInterface({ input: program.stdout }).on('line', (line) => {
      if (line === 'gap') onListening()
      if (line.startsWith('end ')) this.#commits += 1
    })
  }

  stop(): number {
    this.#program.kill('SIGKILL')
    return this.#commits
  }
}

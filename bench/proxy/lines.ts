import { createInterface } from 'node:readline'
import type { RunningProgram } from '../../src/host/index.ts'

/** The lines a program prints, one after the other. */
export class Lines {
  readonly #lines: AsyncIterator<string>

  constructor(program: RunningProgram) {
    if (program.stdout === null) throw new Error('the program has no standard output here')
    this.#lines = createInterface({ input: program.stdout })[Symbol.asyncIterator]()
  }

  async next(): Promise<string> {
    const { value, done } = await this.#lines.next()
    if (done) throw new Error('the program ended')
    return value
  }
}

import { setTimeout as sleep } from 'node:timers/promises'
import type { Run } from '../programs/index.ts'
import { ExecError } from '../programs/index.ts'
import { explainFailure, judgeFailure } from './nft-error.ts'

const timeoutMs = 120_000
/** Pauses before further attempts while the kernel or another program is busy. */
const pausesMs = [20, 100, 500]

/**
 * Runs a text as one transaction by a started `nft -f -`; returns the program's pid.
 *
 * @throws NftError
 */
export async function runNft(run: Run, text: string): Promise<number | undefined> {
  for (const pauseMs of [...pausesMs, undefined]) {
    try {
      return (await run('nft', ['-f', '-'], { input: text, timeoutMs })).pid
    } catch (thrown) {
      if (pauseMs === undefined || !isPassing(thrown)) throw explainFailure(thrown, text)
      await sleep(pauseMs)
    }
  }
  return undefined
}

function isPassing(thrown: unknown): boolean {
  return thrown instanceof ExecError && thrown.code === 'failed' && judgeFailure(thrown.stderr) === 'busy'
}

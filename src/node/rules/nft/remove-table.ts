import { setTimeout } from 'node:timers/promises'
import { ExecError, NftError, type NftSession, type Run } from '../../../host/index.ts'
import type { IpFamily } from '../../../model/ip.ts'
import { isMissing } from '../flavour.ts'
import { targetOf } from './kernel.ts'

/** Packets that were translated by the old rules leave within it. */
const pauseMs = 100
const timeoutMs = 60_000

/**
 * Removes our table while other rules of ours serve in its place: first the rules that translate, then, when packets that met them have left,
 * everything else. Returns whether there was one. Throws NftError.
 */
export async function removeTable(session: Pick<NftSession, 'applyRuleset'>, family: IpFamily): Promise<boolean> {
  const target = targetOf({ family, name: 'platnet' })
  await session
    .applyRuleset(`flush chain ${target} nat-prerouting\nflush chain ${target} nat-output\n`)
    .catch(() => undefined)
  await setTimeout(pauseMs)
  try {
    await session.applyRuleset(`delete table ${target}\n`)
    return true
  } catch (thrown) {
    if (thrown instanceof NftError && /No such file/.test(thrown.reason)) return false
    throw thrown
  }
}

/** Removes our table, for `platnet cleanup`. Returns whether there was one; without nft nothing is known of it. Throws ExecError. */
export async function removeTableAtOnce(run: Run, family: IpFamily): Promise<boolean> {
  const target = targetOf({ family, name: 'platnet' })
  const input = `delete table ${target}\n`
  try {
    await run('nft', ['-f', '-'], { input, timeoutMs })
    return true
  } catch (thrown) {
    if (isMissing(thrown) || (thrown instanceof ExecError && /No such file or directory/.test(thrown.stderr)))
      return false
    throw thrown
  }
}

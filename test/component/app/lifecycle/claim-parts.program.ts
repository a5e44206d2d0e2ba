// Runs in a network namespace of its own: an earlier agent, as a child of this process, has parts of the node. Prints what a second one learns.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { awaitUnclaimed, claimParts, findClaimant } from '../../../../src/app/lifecycle/claim-parts.ts'
import { describeError } from '../../../../src/model/errors.ts'
import { silentLogger } from '../../../../src/observe/index.ts'

const claim = (components: readonly string[], patienceMs: number) =>
  claimParts({ components, log: silentLogger, patienceMs }).then(() => 'claimed', describeError)

if (process.argv[2] === 'hold') {
  process.send?.(await claim(['proxy', 'dns', 'registration'], 0))
  setInterval(() => {}, 1_000)
} else {
  const earlier = fork(import.meta.filename, ['hold'])
  await once(earlier, 'message')
  const found = await findClaimant()
  const refused = await claim(['policy', 'dns'], 0)
  const refusedRun = await awaitUnclaimed({ components: ['proxy'], patienceMs: 0 }).catch(describeError)
  const beside = await claim(['ingress', 'registration'], 0)
  const waiting = claim(['proxy'], 30_000)
  earlier.kill('SIGKILL')
  const answers = { pid: earlier.pid, found, refused, refusedRun, beside, afterItsEnd: await waiting }
  process.stdout.write(JSON.stringify(answers))
  process.exit(0)
}

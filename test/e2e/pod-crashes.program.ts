// Run by pod-crashes.test.ts in namespaces of its own: the agent is killed at each step of a pod's life, and 50 pods come and go at
// once. Prints what was left as one line of JSON.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { deadlineMs, isReady, PodsLab } from '../helpers/pods-lab.ts'
import { untilAsync } from '../helpers/until.ts'

const lab = new PodsLab()
const patient = { command: ['sh', '-c', 'trap "exit 0" TERM; while :; do sleep 0.1; done'] }

interface Crash {
  readonly step: string
  /** From the line that announces the step to SIGKILL. */
  readonly delayMs: number
}

const crashes: readonly Crash[] = [
  { step: 'make-sandbox', delayMs: 0 },
  { step: 'make-sandbox', delayMs: 40 },
  { step: 'start', delayMs: 0 },
  { step: 'stop', delayMs: 0 },
  { step: 'remove-sandbox', delayMs: 20 },
  { step: 'delete-object', delayMs: 0 },
  { step: 'forget', delayMs: 0 },
]

/** One pod's whole life, the agent killed once at that step and another one started. */
async function crashAt({ step, delayMs }: Crash, name: string): Promise<void> {
  const killed = Promise.withResolvers<void>()
  let isArmed = true
  await lab.startAgent([], (line) => {
    if (!isArmed || !line.includes(`"step":"${step}"`)) return
    isArmed = false
    void sleep(delayMs).then(() => lab.killAgent().then(killed.resolve))
  })
  const goOn = async () => {
    await killed.promise
    await lab.startAgent()
  }
  const isAtStart = step === 'make-sandbox' || step === 'start'
  await lab.createPod(name, patient)
  if (isAtStart) await goOn()
  await lab.waitReady(name)
  await lab.deletePod(name)
  if (!isAtStart) await goOn()
  await lab.waitGone(name)
  await untilAsync(`${name} has left nothing`, async () => (await countLeftovers()) === 0, deadlineMs)
  await lab.killAgent()
}

async function countLeftovers(): Promise<number> {
  const leftovers = Object.values(await lab.leftovers()).flat()
  return leftovers.length + podProcesses().length
}

/** Shims and what they started: all of them have the folder of a pod among their words. */
function podProcesses(): string[] {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  return pids.filter((pid) => {
    const file = `/proc/${pid}/cmdline`
    return existsSync(file) && readFileSync(file, 'utf8').includes('/run/platnet/pods/')
  })
}

async function observeMany(count: number) {
  await lab.startAgent()
  const names = Array.from({ length: count }, (_, index) => `many-${index}`)
  await Promise.all(names.map((name) => lab.createPod(name, patient)))
  await untilAsync(
    'all pods are ready',
    async () => (await lab.pods()).filter(isReady).length === count,
    2 * deadlineMs,
  )
  const pods = await lab.pods()
  await Promise.all(names.map((name) => lab.deletePod(name)))
  await untilAsync('all pods are gone', async () => (await lab.pods()).length === 0, 2 * deadlineMs)
  await untilAsync('nothing is left', async () => (await countLeftovers()) === 0, deadlineMs)
  return {
    addresses: new Set(pods.map((pod) => pod.status.podIP)).size,
    restarts: pods.reduce((sum, pod) => sum + pod.status.containerStatuses[0].restartCount, 0),
    leftovers: await lab.leftovers(),
    processes: podProcesses().length,
  }
}

await lab.build()
const survived: string[] = []
for (const [index, crash] of crashes.entries()) {
  await crashAt(crash, `crash-${index}`)
  survived.push(`${crash.step} ${crash.delayMs}`)
  process.stderr.write(`survived ${survived.at(-1)}\n`)
}
const many = await observeMany(50)
await lab.stop()
process.stdout.write(`${JSON.stringify({ survived, wanted: crashes.length, many })}\n`)
process.exit(0)

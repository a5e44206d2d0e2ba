// Run by unit-life.test.ts in namespaces of its own: the unit as it ships, run by a real systemd, from READY to cleanup, with a pod whose
// processes outlive it. Argument: an empty control group. Prints what was seen as one line of JSON; the test judges it.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { addRoute, runProgram } from '../../src/host/index.ts'
import { findProgram } from '../../src/node/pods/container-files.ts'
import { PodFolders } from '../../src/node/pods/pod-folders.ts'
import { ipOf } from '../helpers/addresses.ts'
import { httpGet } from '../helpers/http-get.ts'
import { type AnyObject, deadlineMs, PodsLab, podFlags, quickCorefile } from '../helpers/pods-lab.ts'
import { SystemdMachine } from '../helpers/systemd-machine.ts'
import { untilAsync } from '../helpers/until.ts'

const checkout = resolve(import.meta.dirname, '../..')
const dataDir = '/var/lib/platnet'
const unit = 'platnet.service'
const [group = ''] = process.argv.slice(2)
const machine = new SystemdMachine()
const lab = new PodsLab({ dataDir, controlSocket: '/run/platnet/agent.sock' })

async function rules(): Promise<string> {
  return (await runProgram('iptables-save', [], { timeoutMs: 5000 })).stdout.replaceAll(/^#.*\n|\[\d+:\d+\]/gm, '')
}

async function ourRules(): Promise<number> {
  return (await rules()).split('\n').filter((line) => line.includes('PLAT-')).length
}

async function platnet(...args: string[]): Promise<string> {
  return (await runProgram(`${checkout}/scripts/platnet`, args, { timeoutMs: 20_000 })).stdout
}

/** Another user than root, a server, output that goes on, and a probe that runs inside. */
const podScript = `
const { readFileSync, writeFileSync } = require('node:fs')
console.log(process.umask().toString(8), readFileSync('/proc/self/oom_score_adj', 'utf8').trim(), readFileSync('/etc/resolv.conf', 'utf8').split('\\n')[1])
setInterval(() => console.log('tick'), 50)
require('node:http').createServer((q, r) => r.end('web')).listen(8080)`

async function startPod(): Promise<string> {
  await lab.create(
    { group: '', resource: 'services' },
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'web' },
      spec: { clusterIP: '10.96.0.77', selector: { app: 'web' }, ports: [{ port: 80, targetPort: 8080 }] },
    },
  )
  const container = {
    command: [process.execPath, '-e', podScript],
    securityContext: { runAsUser: 65534 },
    readinessProbe: { exec: { command: ['sh', '-c', 'test "$(cat /proc/1/comm)" != systemd'] }, periodSeconds: 1 },
  }
  // No grace: the controllers, which would take it out of the Service first, may just be starting after the kill.
  await lab.createPod('web', container, { terminationGracePeriodSeconds: 0 }, { labels: { app: 'web' } })
  const pod = await lab.waitReady('web')
  await untilAsync('the Service answers', async () => (await ask()) === undefined, deadlineMs)
  return pod.metadata.uid
}

/** Undefined for an answer as it should be. */
async function ask(): Promise<string | undefined> {
  try {
    const { body } = await httpGet({ host: '10.96.0.77', port: 80, timeout: 10_000 })
    return body === 'web' ? undefined : body
  } catch (error) {
    return String(error)
  }
}

/** Sends requests one after the other, each on a connection of its own, until `stop` is called. */
function startAsking(): { finish(): Promise<{ asked: number; failures: string[] }> } {
  let isOver = false
  const run = (async () => {
    const failures: string[] = []
    let asked = 0
    for (; !isOver; asked += 1) {
      const failure = await ask()
      if (failure !== undefined) failures.push(failure)
      await sleep(5)
    }
    return { asked, failures }
  })()
  return {
    finish: () => {
      isOver = true
      return run
    },
  }
}

async function observePod(uid: string) {
  const run = { container: 'main', attempt: 0 }
  const process_ = findProgram(new PodFolders(`${dataDir}/pods`).runFolder(uid, run))
  const { status }: AnyObject = await lab.pod('web')
  const ready = status.conditions.find((each: AnyObject) => each.type === 'Ready')
  return { process: process_, restarts: status.containerStatuses[0].restartCount, ready }
}

async function countLines(): Promise<number> {
  return (await lab.logs('web')).split('\n').length
}

/** What `systemctl` and the kernel do to the service while the pod works. A stopped main process is stuck: the watchdog ends it. */
async function observeRestarts(uid: string) {
  const first = await observePod(uid)
  const load = startAsking()
  const seen = []
  const main = (signal: string) => ['kill', '--kill-who=main', `--signal=${signal}`]
  for (const args of [main('SIGKILL'), ['restart'], main('SIGSTOP')]) {
    const pid = await machine.show(unit, 'MainPID')
    const lines = await countLines()
    await machine.systemctl(...args, unit)
    await untilAsync(
      'another process serves',
      async () => !['0', pid].includes(await machine.show(unit, 'MainPID')) && (await isActive()),
      deadlineMs,
    )
    await lab.connect()
    await untilAsync('the log goes on', async () => (await countLines()) > lines, deadlineMs)
    seen.push(await observePod(uid))
  }
  return { first, seen, ...(await load.finish()) }
}

/** The second process of the service, which the first one supervises. systemd has pids of its own, so the process is found by its words. */
function agentPid(): number {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  return Number(pids.find(isAgent))
}

function isAgent(pid: string): boolean {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('main.ts\0agent\0')
  } catch {
    return false // It has ended.
  }
}

/** `systemctl reload`, and what a closed terminal and `systemctl kill --signal=HUP` send to the agent as well. */
async function survivesHangUp(): Promise<boolean> {
  const pid = agentPid()
  await machine.systemctl('reload', unit)
  process.kill(pid, 'SIGHUP')
  const status = await platnet('status')
  return status.includes('proxy') && agentPid() === pid
}

async function isActive(): Promise<boolean> {
  return (await machine.show(unit, 'ActiveState')) === 'active'
}

writeFileSync('/proc/sys/net/ipv4/ip_forward', '1')
const flags = [
  '--node-name=node-1',
  `--node-ip=${lab.nodeAddress}`,
  '--cni-conf-dir=/run/net.d',
  '--cni-cache-dir=/run/cni',
  `--control-socket=${lab.controlSocket}`,
  `--corefile=${quickCorefile}`,
  '--log-level=warn',
  ...podFlags,
]
const text = readFileSync(`${checkout}/systemd/${unit}`, 'utf8')
  .replaceAll('/usr/lib/platnet', checkout)
  .replace(/^WatchdogSec=.*$/m, 'WatchdogSec=4')
const output = 'StandardOutput=append:/run/unit.log\nStandardError=append:/run/unit.log\n'
await machine.boot(group, { [unit]: text.replace('[Service]\n', `[Service]\n${output}`) })
writeFileSync('/etc/default/platnet', `PLATNET_OPTIONS=${flags.join(' ')}\n`)
await lab.buildNode()
// As a node has it: addresses of Services leave by the default route unless rules say otherwise.
await addRoute({ destination: 'default', via: ipOf('192.0.2.254') })
await runProgram('iptables', ['-A', 'INPUT', '-s', '192.0.2.99', '-j', 'DROP'], { timeoutMs: 5000 })
const foreign = (await rules()).includes('192.0.2.99/32')
try {
  // Comes back with READY.
  await machine.systemctl('start', unit)
  const rulesAtReady = await ourRules()
  await lab.connect()
  const uid = await startPod()
  const firstLine = (await lab.logs('web')).split('\n')[0]
  const restarts = await observeRestarts(uid)
  const isReported = async () => /dns: \d+ names/.test(await machine.show(unit, 'StatusText'))
  await untilAsync('the status line says what the agent serves', isReported, deadlineMs)
  const isKeptAtHangUp = await survivesHangUp()
  await lab.deletePod('web')
  await lab.waitGone('web')
  await lab.waitClean()
  const rulesBeforeStop = await ourRules()
  await machine.systemctl('stop', unit)
  const end = [await machine.show(unit, 'Result'), await machine.show(unit, 'ExecMainStatus')]
  const rulesAfterStop = await ourRules()
  const cleaned = await platnet('cleanup', '--yes')
  const seen = {
    rulesAtReady,
    firstLine,
    ...restarts,
    isKeptAtHangUp,
    rulesBeforeStop,
    rulesAfterStop,
    end,
    cleaned,
    rulesAfterCleanup: await ourRules(),
    cleanedAgain: await platnet('cleanup', '--yes'),
    foreignKept: foreign && (await rules()).includes('-s 192.0.2.99/32 -j DROP'),
  }
  process.stdout.write(`${JSON.stringify(seen)}\n`)
} catch (error) {
  process.stderr.write(`${readFileSync('/run/unit.log', 'utf8')}`)
  throw error
} finally {
  await machine.stop()
}
process.exit(0)

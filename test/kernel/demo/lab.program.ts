// Run by lab.test.ts in namespaces of its own: the lab with rules put in by hand. Prints what happened as one line of JSON.
import { writeFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { Lab, nodeAddress, type Pod } from '../../../src/demo/lab.ts'
import { listNetns, runProgram } from '../../../src/host/index.ts'
import { cidrOf, ipOf } from '../../helpers/addresses.ts'

const serviceAddress = ipOf('10.96.0.10')
const timeoutMs = 5000

/** The shape of spec 2.12, shortened: one Service of three endpoints; the client is outside the cluster, so it is masqueraded. */
async function writeRules(pods: readonly Pod[]): Promise<void> {
  const endpoints = pods.map((pod, index) => {
    const probability = (1 / (pods.length - index)).toFixed(10)
    return `-A SVC -p tcp -m statistic --mode random --probability ${probability} -j DNAT --to-destination ${pod.address}:${pod.port}`
  })
  const lines = [
    '*nat',
    ':SVC - [0:0]',
    '-F PREROUTING',
    '-F POSTROUTING',
    `-A PREROUTING -d ${cidrOf('10.96.0.10/32')} -p tcp --dport 80 -j SVC`,
    '-A POSTROUTING -s 192.0.2.0/24 -o plt0 -j MASQUERADE --random-fully',
    ...endpoints,
    'COMMIT',
    '',
  ]
  await runProgram('iptables-restore', ['--noflush'], { input: lines.join('\n'), timeoutMs })
}

const lab = new Lab()
await lab.build()
writeFileSync('/proc/sys/net/ipv4/ip_forward', '1')
const pods = [await lab.startPod(), await lab.startPod(), await lab.startPod()]
await writeRules(pods)

const direct = await runProgram('curl', ['-s', `http://${pods[0]?.address}:8080/`], { netns: 'plt-client', timeoutMs })
const load = await lab.startLoad({ host: serviceAddress, port: 80, rate: 1200, maxSeconds: 30 })
await sleep(1500)
const [first, ...others] = pods
const newcomer = await lab.startPod()
await writeRules([...others, newcomer])
await first?.stop()
const rollout = await load.finish()

const control = await lab.startLoad({ host: serviceAddress, port: 80, rate: 1200, maxSeconds: 30 })
await sleep(300)
await newcomer.kill()
await sleep(300)
const stoppedFirst = await control.finish()

const netns = await listNetns()
await lab.stop()
process.stdout.write(`${JSON.stringify({ node: nodeAddress, direct: direct.stdout, rollout, stoppedFirst, netns })}\n`)

// Run by steps.test.ts in namespaces of its own: the steps of the demo over rules written by hand, a sleeping program as
// the daemon. Prints each finding's line.
import { writeFileSync } from 'node:fs'
import { Lab } from '../../../src/demo/lab.ts'
import type { ServiceDescription } from '../../../src/demo/manifests.ts'
import { askClusterDns } from '../../../src/demo/name-steps.ts'
import { runSteps } from '../../../src/demo/run-steps.ts'
import type { Scene } from '../../../src/demo/scene.ts'
import { createWebService } from '../../../src/demo/web-service.ts'
import { type RunningProgram, runProgram } from '../../../src/host/index.ts'
import { createDialect } from '../../../src/model/dialect.ts'
import { asReady, Rollout } from '../../helpers/lab-rollout.ts'
import { HandWrittenCluster } from './hand-written-cluster.ts'
import { serveNames } from './hand-written-names.ts'
import { stepsByHand } from './steps-by-hand.ts'

let sleeper: RunningProgram | undefined
const daemon = {
  start: async () => {
    sleeper = await runProgram('sleep', ['600'], { background: true })
  },
  kill: async () => {
    sleeper?.kill('SIGKILL')
    await sleeper?.exited
    return 1
  },
}

writeFileSync('/proc/sys/net/ipv4/ip_forward', '1')
const lab = new Lab()
await lab.build()
await daemon.start()
const api = new HandWrittenCluster()
await serveNames(api)
const dialect = createDialect('platform')
const web = await createWebService(api, dialect, { name: 'web', type: 'NodePort', sessionAffinity: 'None' })
const rollout = new Rollout(lab, web)
await rollout.start(3)
const serve = async (description: ServiceDescription) => {
  const service = await createWebService(api, dialect, description)
  await service.publish(rollout.pods.map(asReady))
  return service
}
const names = askClusterDns()
const scene: Scene = { lab, api, dialect, daemon, web, workload: rollout, names, serve, trafficSeconds: 1 }
await runSteps(stepsByHand, scene, (line) => process.stdout.write(`${line}\n`))
await daemon.kill()
await lab.stop()

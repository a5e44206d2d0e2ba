import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import type { ControllerContext } from '../../../src/controllers/context.ts'
import {
  createEndpointSliceController,
  createEndpointsController,
  createMirroringController,
} from '../../../src/controllers/endpoints/index.ts'
import { GarbageCollector } from '../../../src/controllers/garbage/garbage-collector.ts'
import type { Controller } from '../../../src/controllers/runtime/controller.ts'
import { startTestServer, type TestServer } from '../../helpers/api-server.ts'
import { hollowNode, runControllers, workloadControllers } from '../../helpers/controller-lab.ts'
import { randomFrom, TroubledClient } from '../../helpers/troubled-client.ts'
import { until } from '../../helpers/until.ts'
import { type Cluster, describeEndpoints, describeWorkloads, UserOfCluster } from '../../helpers/user-of-cluster.ts'

const deadlineMs = 60_000
const operations = 90

/** `PLATNET_SEED=12 node --test …` does what a run with that seed did. */
const given = process.env['PLATNET_SEED']
const seeds = given === undefined ? [1, Math.floor(Math.random() * 2 ** 31)] : [Number(given)]

const endpointControllers = (context: ControllerContext): readonly Controller[] => [
  createEndpointsController(context),
  createEndpointSliceController(context),
  createMirroringController(context),
]

/** Writes what follows from the present state, once, without trouble. */
async function cleanPass(server: TestServer): Promise<void> {
  let controllers: readonly Controller[] = []
  await using _running = await runControllers(server, (context) => {
    controllers = endpointControllers(context)
    return controllers
  })
  await until('the pass is done', () => controllers.every(({ isIdle }) => isIdle), deadlineMs)
}

describe('conflicts, errors, lost connections and crashes change nothing of where the controllers end', () => {
  for (const seed of seeds) {
    test(`with seed ${seed}`, async (context) => {
      await using server = await startTestServer()
      const user = new UserOfCluster(server, randomFrom(seed))
      await user.prepare()
      const controllers = new CrashingControllers(server, randomFrom(seed + 1))
      try {
        await controllers.start()
        for (let step = 0; step < operations; step++) {
          await user.act()
          await controllers.suffer()
        }
        context.diagnostic(`seed ${seed}: ${JSON.stringify(controllers.calm())}`)
        await assertArrives(server, user.cluster, seed)
      } finally {
        await controllers.stop()
      }
      const revision = server.store.revision
      await cleanPass(server)
      assert.equal(server.store.revision, revision, `a further pass writes nothing, seed ${seed}`)
    })
  }
})

/** All controllers on one client in trouble; now and then they die and begin anew. */
class CrashingControllers {
  readonly #server: TestServer
  readonly #random: () => number
  readonly #client: TroubledClient
  #running: Awaited<ReturnType<typeof runControllers>> | undefined
  #crashes = 0

  constructor(server: TestServer, random: () => number) {
    this.#server = server
    this.#random = random
    this.#client = new TroubledClient(server, random)
  }

  async start(): Promise<void> {
    this.#running = await runControllers(
      this.#server,
      (kit) => [
        ...endpointControllers(kit),
        ...workloadControllers(kit),
        new GarbageCollector(kit),
        hollowNode(kit, ({ metadata }) => metadata.labels['runs'] === 'hollow'),
      ],
      { client: this.#client, timing: { backoffBaseMs: 10, backoffMaxMs: 200 }, events: { record: () => {} } },
    )
  }

  async suffer(): Promise<void> {
    const chance = this.#random()
    if (chance < 0.1) this.#client.cutAll()
    if (chance > 0.96) {
      this.#crashes += 1
      await this.#running?.crash()
      await this.start()
    }
    if (chance > 0.6) await sleep(this.#random() * 15)
  }

  calm(): Readonly<Record<string, number>> {
    this.#client.calm()
    return { ...this.#client.troubles, crashes: this.#crashes }
  }

  async stop(): Promise<void> {
    await this.#running?.[Symbol.asyncDispose]()
  }
}

async function assertArrives(server: TestServer, cluster: Cluster, seed: number): Promise<void> {
  const clean = { endpoints: await cleanlyMade(cluster), workloads: cluster.wantedWorkloads() }
  const describeAll = async () => ({
    endpoints: await describeEndpoints(server),
    workloads: await describeWorkloads(server),
  })
  const endMs = performance.now() + deadlineMs
  while (performance.now() < endMs && !isDeepStrictEqual(await describeAll(), clean)) await sleep(50)
  assert.deepEqual(await describeAll(), clean, `seed ${seed}`)
}

/** What a single clean pass makes of the same cluster. */
async function cleanlyMade(cluster: Cluster) {
  await using server = await startTestServer()
  await new UserOfCluster(server, () => 0).rebuild(cluster)
  await cleanPass(server)
  return await describeEndpoints(server)
}

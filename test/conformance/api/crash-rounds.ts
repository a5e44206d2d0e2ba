import assert from 'node:assert/strict'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { AdminConnection } from '../../helpers/admin-connection.ts'
import { findFreePort } from '../../helpers/free-port.ts'
import { type AdminAccess, PlatnetServer } from '../../helpers/platnet-server.ts'
import { until } from '../../helpers/until.ts'

const configMaps = '/api/v1/namespaces/default/configmaps'
const writerCount = 8
const watcherCount = 4
const longestRunMs = 250

/** A write as its answer or its event tells it. */
interface Write {
  readonly revision: number
  readonly name: string
  readonly count: number
}

/** Kills `platnet server` so many times under writers and watchers, and checks after each start that nothing is lost, used twice or delivered twice. */
export async function runCrashRounds(dataDir: string, rounds: number): Promise<{ acknowledged: number }> {
  const server = new PlatnetServer(dataDir, await findFreePort())
  const history = new History()
  const watchers: Watcher[] = []
  try {
    const access = await server.start()
    await createObjects(access)
    watchers.push(...Array.from({ length: watcherCount }, () => new Watcher(access, history)))
    for (const watcher of watchers) void watcher.run()
    for (let round = 0; round < rounds; round++) {
      const writers = Array.from({ length: writerCount }, (_, index) => writeUntilCut(access, `w-${index}`, history))
      await sleep(20 + Math.random() * longestRunMs)
      await server.stop('SIGKILL')
      await Promise.all(writers)
      await server.start()
      await assertNothingLost(access, history, watchers)
    }
  } finally {
    for (const watcher of watchers) watcher.stop()
    await server.stop('SIGKILL')
  }
  return { acknowledged: history.acknowledgedCount }
}

/** Everything that any client received, by revision. */
class History {
  readonly #byRevision = new Map<number, Write>()
  readonly promised = new Map<string, Write>()
  acknowledgedCount = 0

  /** One revision is one write, whichever client received it and however often the server was started in between. */
  add(write: Write): void {
    const known = this.#byRevision.get(write.revision)
    if (known !== undefined) assert.deepEqual(write, known, `revision ${write.revision} was used twice`)
    this.#byRevision.set(write.revision, write)
  }

  acknowledge(write: Write): void {
    this.found(write)
    this.acknowledgedCount += 1
  }

  /** Read or acknowledged: from now on it must be there, or its successor. */
  found(write: Write): void {
    this.add(write)
    this.promised.set(write.name, write)
  }
}

/** Watches over all lives of the server, from where it was cut. */
class Watcher {
  readonly #access: AdminAccess
  readonly #history: History
  readonly seen = new Map<string, Write>()
  revision = 0
  fault: assert.AssertionError | undefined
  #stopped = false
  #connection: AdminConnection | undefined

  constructor(access: AdminAccess, history: History) {
    this.#access = access
    this.#history = history
  }

  /** What it finds wrong stands in `fault`; a connection that ends is opened again. */
  async run(): Promise<void> {
    while (!this.#stopped && this.fault === undefined) {
      await this.#follow().catch((thrown: unknown) => {
        if (thrown instanceof assert.AssertionError) this.fault = thrown
      })
      await sleep(10)
    }
  }

  stop(): void {
    this.#stopped = true
    this.#connection?.close()
  }

  async #follow(): Promise<void> {
    const connection = new AdminConnection(this.#access, 1)
    this.#connection = connection
    const response = await connection.open('GET', `${configMaps}?watch=1&resourceVersion=${this.revision || ''}`)
    try {
      for await (const line of createInterface({ input: response })) this.#take(JSON.parse(line))
    } finally {
      connection.close()
    }
  }

  // biome-ignore lint/suspicious/noExplicitAny: a test looks into any event
  #take({ type, object }: { type: string; object: any }): void {
    if (type === 'ERROR') {
      assert.equal(object.code, 410)
      this.revision = 0
      return
    }
    const write = toWrite(object)
    if (this.revision > 0 || type !== 'ADDED') {
      assert.ok(write.revision > this.revision, `revision ${write.revision} came after ${this.revision}`)
    }
    const before = this.seen.get(write.name)
    if (before !== undefined)
      assert.equal(write.count, before.count + 1, `${write.name}: an event is missing or came twice`)
    this.#history.add(write)
    this.seen.set(write.name, write)
    this.revision = Math.max(this.revision, write.revision)
  }
}

// biome-ignore lint/suspicious/noExplicitAny: a test looks into any object
function toWrite({ metadata, data }: any): Write {
  return { revision: Number(metadata.resourceVersion), name: metadata.name, count: Number(data.count) }
}

async function createObjects(access: AdminAccess): Promise<void> {
  const connection = new AdminConnection(access, 1)
  for (let index = 0; index < writerCount; index++) {
    const { code } = await connection.call('POST', configMaps, {
      metadata: { name: `w-${index}` },
      data: { count: '0' },
    })
    assert.equal(code, 201)
  }
  connection.close()
}

/** Counts an object up with compare-and-swap until the server is gone. */
async function writeUntilCut(access: AdminAccess, name: string, history: History): Promise<void> {
  const connection = new AdminConnection(access, 1)
  try {
    let { body } = await connection.call('GET', `${configMaps}/${name}`)
    history.found(toWrite(body))
    for (;;) {
      const next = { ...body, data: { count: String(Number(body.data.count) + 1) } }
      const reply = await connection.call('PUT', `${configMaps}/${name}`, next)
      assert.equal(reply.code, 200)
      body = reply.body
      history.acknowledge(toWrite(body))
    }
  } catch (thrown) {
    if (thrown instanceof assert.AssertionError) throw thrown
  } finally {
    connection.close()
  }
}

/** Of each object the last acknowledged write or the one after it, which was under way; and each watcher comes to the same state. */
async function assertNothingLost(access: AdminAccess, history: History, watchers: readonly Watcher[]): Promise<void> {
  const connection = new AdminConnection(access, 1)
  const { body } = await connection.call('GET', configMaps)
  connection.close()
  const listed: Write[] = body.items.map(toWrite)
  for (const { name, revision, count } of listed) {
    const last = history.promised.get(name)
    if (last === undefined) continue
    assert.ok(revision >= last.revision, `revision ${last.revision} of ${name} is lost`)
    assert.ok(count === last.count || count === last.count + 1, `${name} counts ${count} after ${last.count}`)
  }
  const newest = Math.max(...listed.map(({ revision }) => revision))
  const isThrough = ({ revision, fault }: Watcher) => revision >= newest || fault !== undefined
  await until('every watcher has caught up', () => watchers.every(isThrough), 10_000)
  for (const watcher of watchers) {
    assert.ifError(watcher.fault)
    const state = [...watcher.seen.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1))
    assert.deepEqual(state, listed, 'the replayed watch is not the list')
  }
}

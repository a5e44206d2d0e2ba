import assert from 'node:assert/strict'
import { it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { EtcdCluster, etcdLack } from '../../helpers/etcd.ts'
import { createRegisters, followRegisters, History, ServerGroup, useRegisters } from '../../helpers/etcd-fault-lab.ts'
import { httpGet } from '../../helpers/http-get.ts'
import { makeTemporaryFolder } from '../../helpers/temporary-folder.ts'
import { findAnomalies } from '../../helpers/versioned-history.ts'

/** `ETCD_FAULT_ROUNDS=50` runs more; a round takes about 5 s. */
const rounds = Number(process.env['ETCD_FAULT_ROUNDS'] ?? 6)
const keys = ['reg-0', 'reg-1', 'reg-2', 'reg-3', 'reg-4']
const workers = 6
const pauseLimitMs = 5_000

type Fault = (etcd: EtcdCluster, group: ServerGroup, round: number) => Promise<void>

/** What was done in a round, and when the round began. */
interface Round {
  readonly fault: string
  readonly startMs: number
}

const killMember: Fault = async (etcd, _, round) => {
  const member = round % 3
  await etcd.kill(member)
  await sleep(1_500)
  etcd.startMember(member)
  await etcd.ready(member)
}

const killServer: Fault = async (_, group, round) => {
  const server = round % group.count
  await group.kill(server)
  await sleep(500)
  await group.restart(server)
}

const pauseMember: Fault = async (etcd, _, round) => {
  const member = round % 3
  etcd.signal(member, 'SIGSTOP')
  await sleep(2_500)
  etcd.signal(member, 'SIGCONT')
  await etcd.ready(member)
}

const killBoth: Fault = async (etcd, group, round) => {
  await Promise.all([killMember(etcd, group, round), killServer(etcd, group, round)])
}

const faults = Object.entries({ killMember, killServer, killBoth, pauseMember })

it(`Three servers over three members of etcd, killed or paused in turn in ${rounds} rounds, lose nothing that they acknowledged; watchers miss and repeat nothing.`, {
  skip: etcdLack ?? false,
}, async (t) => {
  await using etcd = await EtcdCluster.start({ members: 3, syncs: true })
  const group = await ServerGroup.start(makeTemporaryFolder(t), 3, etcd.servers)
  t.after(() => group.stop())
  await createRegisters(group, keys)
  const history = new History()
  const [working, watching] = [new AbortController(), new AbortController()]
  t.after(() => {
    for (const each of [working, watching]) each.abort()
  })
  const afterRevision = await newestRevision(group)
  const watches = [0, 1, 2].map((first) => followRegisters(group, { first, afterRevision, signal: watching.signal }))
  const initial = await listRegisters(group)
  const load = Array.from({ length: workers }, (_, worker) =>
    useRegisters(group, { worker, keys, history, signal: working.signal }),
  )
  const done: Round[] = []
  for (let round = 0; round < rounds; round++) {
    const [fault, inject] = faults[round % faults.length] ?? assert.fail()
    const [number, startMs] = [Math.floor(Math.random() * 3), performance.now()]
    done.push({ fault: `${fault} ${number}`, startMs })
    await inject(etcd, group, number)
    await sleep(1_000)
  }
  working.abort()
  await Promise.all(load)
  const final = await listRegisters(group)
  const last = Math.max(...final.map(({ version }) => version))
  await sleep(1_000)
  watching.abort()
  const seen = await Promise.all(watches)
  const [one] = seen
  assert.ok(one)
  t.diagnostic(
    `${history.operations.length} operations, ${history.acknowledgedMs.length} writes acknowledged, ${history.unknown.length} with unknown outcome, ` +
      `${history.refused.length} refused, longest pauses ${showPauses(history, done)}, watches resumed ${seen.map(({ resumes }) => resumes).join()} times`,
  )
  for (const { shown, problems } of seen) {
    assert.deepEqual(problems, [], 'no watch had to begin anew')
    assert.ok(
      shown.every(({ version }, index) => version > (shown[index - 1]?.version ?? 0)),
      'in order, each once',
    )
    assert.equal(shown.at(-1)?.version, last, 'the watch saw the last write')
    assert.deepEqual(shown, one.shown, 'all watches saw the same')
  }
  const shown = [...initial, ...one.shown]
  const values = new Set(shown.map(({ value }) => value))
  const happened = history.refused.filter((value) => values.has(value))
  assert.deepEqual(happened, [], 'a write that a server refused did not happen')
  assert.deepEqual(findAnomalies(history.settled(shown), shown), [])
  assert.ok(history.acknowledgedMs.length > rounds * 50, 'hardly anything was written')
  assert.ok((history.pauses[0]?.pauseMs ?? 0) <= pauseLimitMs, `writes paused for ${showPauses(history, done)}`)
})

/** The three longest pauses of writes, each with the fault of its round and how long after that it began. */
function showPauses({ pauses }: History, done: readonly Round[]): string {
  const shown = pauses.slice(0, 3).map(({ fromMs, pauseMs }) => {
    const round = done.findLast(({ startMs }) => startMs < fromMs + pauseMs)
    const afterMs = Math.round(fromMs - (round?.startMs ?? fromMs))
    return `${Math.round(pauseMs)} ms (${round?.fault}, from ${afterMs} ms after it)`
  })
  return shown.join(', ')
}

async function newestRevision(group: ServerGroup): Promise<number> {
  const versions = (await listRegisters(group)).map(({ version }) => version)
  return Math.max(...versions)
}

async function listRegisters(group: ServerGroup) {
  const { body } = await httpGet({ ...group.access(0), path: '/api/v1/namespaces/default/configmaps' })
  const { items } = JSON.parse(body) as {
    items: { metadata: { name: string; resourceVersion: string }; data: { value: string } }[]
  }
  return items
    .filter(({ metadata }) => keys.includes(metadata.name))
    .map(({ metadata, data }) => ({ key: metadata.name, version: Number(metadata.resourceVersion), value: data.value }))
}

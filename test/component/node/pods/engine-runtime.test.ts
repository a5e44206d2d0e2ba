import assert from 'node:assert/strict'
import { createServer, type ServerResponse } from 'node:http'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { describe, type TestContext, test } from 'node:test'
import { EngineClient } from '../../../../src/host/index.ts'
import { createDialect } from '../../../../src/model/dialect.ts'
import { EngineRuntime } from '../../../../src/node/pods/engine-runtime.ts'
import { PodFolders } from '../../../../src/node/pods/pod-folders.ts'
import { parsePod } from '../../../../src/node/pods/pod-spec.ts'
import { decideSecurity } from '../../../../src/node/pods/security-context.ts'
import { silentLogger } from '../../../../src/observe/index.ts'
import { launchOf } from '../../../helpers/launch-plans.ts'
import type { AnyObject } from '../../../helpers/pods-lab.ts'
import { makeTemporaryFolder } from '../../../helpers/temporary-folder.ts'

const sandbox = { uid: 'u-1', namespace: 'default', name: 'web', hostNetwork: false, portMappings: [], image: '' }
const run = { container: 'main', attempt: 0 }
const deadlineMs = 30_000
/** Much longer than the time limit of a probe. */
const hangMs = 5000

interface Program {
  /** The output that the engine sends. */
  readonly say: (response: ServerResponse) => void
  readonly isRunning?: boolean
}

/** Runs a probe's program in the one container of an engine. */
async function ask(context: TestContext, { say, isRunning = false }: Program, timeoutMs: number) {
  const socket = join(makeTemporaryFolder(context), 'engine.sock')
  const server = createServer(({ url = '' }, response) => {
    if (url.endsWith('/start')) say(response)
    else if (url.endsWith('/exec')) response.end(JSON.stringify({ Id: 'e-1' }))
    else response.end(JSON.stringify({ ExitCode: 3, Running: isRunning }))
  })
  await new Promise<void>((resolve) => server.listen(socket, resolve))
  context.after(() => server.close())
  context.after(() => server.closeAllConnections())
  const folders = new PodFolders(makeTemporaryFolder(context))
  const engine = new EngineClient(socket)
  const runtime = new EngineRuntime({ engine, folders, hostIps: () => [], log: silentLogger })
  return runtime.exec(sandbox, run, ['check', '--all'], timeoutMs)
}

/** Sends the same text every few milliseconds, so that the connection is never idle. */
function sayOften(response: ServerResponse): void {
  const timer = setInterval(() => response.write('still here\n'), 20)
  const over = setTimeout(() => response.end(), hangMs)
  response.once('close', () => [timer, over].map(clearTimeout))
}

function sayNothing(response: ServerResponse): void {
  const over = setTimeout(() => response.end(), hangMs)
  response.once('close', () => clearTimeout(over))
}

describe("a program that a probe runs in an engine's container", () => {
  test('returns its exit code and its output', async (context) => {
    const result = await ask(context, { say: (response) => response.end('bad\n') }, deadlineMs)
    assert.deepEqual(result, { exitCode: 3, output: 'bad\n' })
  })

  for (const [how, program] of [
    ['says nothing', { say: sayNothing }],
    ['keeps talking', { say: sayOften }],
    ['never comes to an end of which the engine knows', { say: (response) => response.end(), isRunning: true }],
  ] as const satisfies readonly (readonly [string, Program])[]) {
    test(`ends at its time limit, also if it ${how}`, async (context) => {
      const startedMs = performance.now()
      const message = 'check did not end within 300 ms'
      await assert.rejects(ask(context, program, 300), { code: 'not-running', message })
      assert.ok(performance.now() - startedMs < hangMs, 'it was waited for')
    })
  }
})

test("an engine's container has the decided rights, and the sandbox container has none", async (context) => {
  const socket = join(makeTemporaryFolder(context), 'engine.sock')
  const created: AnyObject[] = []
  const server = createServer(async (request, response) => {
    const { url = '' } = request
    const body = await text(request)
    if (url.includes('/containers/create')) created.push(JSON.parse(body))
    if (url.includes('/containers/json')) response.end('[]')
    else response.end(JSON.stringify({ Id: 'c-1', NetworkSettings: { IPAddress: '172.17.0.2' } }))
  })
  await new Promise<void>((resolve) => server.listen(socket, resolve))
  context.after(() => server.close())
  context.after(() => server.closeAllConnections())
  const folders = new PodFolders(makeTemporaryFolder(context))
  const runtime = new EngineRuntime({ engine: new EngineClient(socket), folders, hostIps: () => [], log: silentLogger })
  const security = decideSecurity(
    { supplementalGroups: [7] },
    { runAsUser: 5, runAsGroup: 6, readOnlyRootFilesystem: true, capabilities: { drop: ['ALL'], add: ['KILL'] } },
    true,
  )
  const parsed = parsePod({ metadata: sandbox, spec: { containers: [{ name: 'main' }] } }, createDialect('platform'))
  assert.ok(parsed.kind === 'pod')
  await runtime.makeSandbox(sandbox)
  await runtime.start(parsed.pod, sandbox, run, launchOf(['serve'], { security }))
  const rights = created.map(({ User, HostConfig }) => {
    const { CapDrop, CapAdd, GroupAdd, ReadonlyRootfs, SecurityOpt } = HostConfig
    return { User, CapDrop, CapAdd, GroupAdd, ReadonlyRootfs, SecurityOpt }
  })
  const least = { CapDrop: ['ALL'], ReadonlyRootfs: true, SecurityOpt: ['no-new-privileges'] }
  assert.deepEqual(rights, [
    { User: undefined, CapAdd: undefined, GroupAdd: undefined, ...least },
    { User: '5:6', CapAdd: ['KILL'], GroupAdd: ['7'], ...least },
  ])
})

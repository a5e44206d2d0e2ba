import assert from 'node:assert/strict'
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { createFastRun, findProcess, runProgram } from '../../../../src/host/index.ts'
import { createDialect } from '../../../../src/model/dialect.ts'
import { detectCgroups } from '../../../../src/node/pods/cgroups.ts'
import type { Launch } from '../../../../src/node/pods/container-launch.ts'
import { PodFolders, ProcessRuntime } from '../../../../src/node/pods/index.ts'
import { parsePod } from '../../../../src/node/pods/pod-spec.ts'
import { decideSecurity } from '../../../../src/node/pods/security-context.ts'
import { silentLogger } from '../../../../src/observe/index.ts'
import { skipReason } from '../../../helpers/netns.ts'
import { makeTemporaryFolder } from '../../../helpers/temporary-folder.ts'
import { untilAsync } from '../../../helpers/until.ts'

const deadlineMs = 30_000
const forever = 'exec sleep 600'
const uid = `test-${process.pid}`
const sandbox = { uid, namespace: 'default', name: 'web', hostNetwork: true, portMappings: [], image: '' }
const network = {
  attach: async () => [],
  detach: async () => {},
  stallReasonOf: () => undefined,
  isAttached: async () => false,
  collect: async () => {},
}

/** Creates a runtime that runs a script to its end as the container `main`, in the host's network. */
async function newNode(context: TestContext) {
  const end: (() => Promise<void>)[] = []
  // Hooks run in order of registration. This one needs the folder, whose removal is registered later.
  context.after(async () => {
    await Promise.all(end.map((each) => each()))
    await runtime.removeSandbox(sandbox)
  })
  const folders = new PodFolders(makeTemporaryFolder(context))
  await folders.writeFiles(uid, { resolver: '', hosts: '' })
  const namespaces = { create: async () => {}, delete: async () => {} }
  const cgroups = detectCgroups()
  const view = { shown: [], hidden: [] }
  const runtime = new ProcessRuntime({
    folders,
    network,
    cgroups,
    hostIps: () => [],
    view,
    namespaces,
    run: createFastRun(),
    log: silentLogger,
  })
  const parsed = parsePod(
    { metadata: sandbox, spec: { hostNetwork: true, containers: [{ name: 'main' }] } },
    createDialect('platform'),
  )
  if (parsed.kind !== 'pod') throw new Error(JSON.stringify(parsed))
  const run = async (attempt: number, script: string, limits: Launch['limits'], more: Partial<Launch> = {}) => {
    const command = ['/bin/sh', '-c', script]
    const security = decideSecurity({}, {}, false)
    const plain = {
      image: '',
      command,
      env: [],
      workingDir: '',
      security,
      limits,
      mounts: [],
      rootFilesystem: undefined,
    }
    const launch: Launch = { ...plain, ...more }
    const began = { container: 'main', attempt }
    end.push(() => runtime.signal(sandbox, began, 'SIGKILL'))
    const problems = await runtime.start(parsed.pod, sandbox, began, launch)
    if (script.endsWith(forever)) return { state: runtime.state(sandbox, began, Date.now()), problems }
    const hasEnded = async () => runtime.state(sandbox, began, Date.now()).kind === 'exited'
    await untilAsync('the container has ended', hasEnded, deadlineMs)
    return { state: runtime.state(sandbox, began, Date.now()), problems }
  }
  const groups = () => readdirSync(`${cgroups.memory?.root}/platnet`).filter((name) => name.startsWith(uid))
  return {
    run,
    runtime,
    folders,
    groups,
    runs: () => readdirSync(join(folders.folder(uid), 'containers', 'main')).toSorted(),
  }
}

describe('the containers of a node', { skip: skipReason('unshare', 'setsid') }, () => {
  test('keep their last run and the one before it', async (context) => {
    const { run, runs } = await newNode(context)
    for (const attempt of [0, 1, 2]) await run(attempt, 'exit 1', {})
    assert.deepEqual(runs(), ['1', '2'])
  })

  test('end at their memory limit with OOMKilled as the reason, and their control groups go with the pod', async (context) => {
    const { run, runtime, groups } = await newNode(context)
    const limits = { memoryBytes: 16 * 1024 * 1024 }
    const { state, problems } = await run(0, 'tail /dev/zero', limits)
    if (problems.length > 0) return context.skip(problems.join())
    assert.ok(state.kind === 'exited')
    assert.deepEqual([state.exitCode, state.isOutOfMemory], [137, true])
    const { state: other } = await run(1, 'exit 7', limits)
    assert.ok(other.kind === 'exited')
    assert.deepEqual([other.exitCode, other.isOutOfMemory], [7, undefined])
    assert.equal(groups().length, 2)
    await runtime.removeSandbox(sandbox)
    assert.deepEqual(groups(), [])
  })

  test('run probe programs, which are killed at their time limit with their children', async (context) => {
    const { run, runtime } = await newNode(context)
    await run(0, forever, {})
    const began = { container: 'main', attempt: 0 }
    const isRunning = async () => runtime.state(sandbox, began, Date.now()).kind === 'running'
    await untilAsync('the container runs', isRunning, deadlineMs)
    const ask = (script: string, timeoutMs: number) => runtime.exec(sandbox, began, ['sh', '-c', script], timeoutMs)
    assert.deepEqual(await ask('echo bad; exit 3', deadlineMs), { exitCode: 3, output: 'bad\n' })
    const startedMs = performance.now()
    await assert.rejects(ask('sleep 20; echo late', 300), { message: /sh did not end within 300 ms/ })
    assert.ok(performance.now() - startedMs < 10_000, 'it was waited for')
    assert.doesNotMatch((await ask('cat /proc/[0-9]*/cmdline', deadlineMs)).output, /sleep.20/)
  })

  test('run probe programs as their user, with their variables and none of the agent, in their working folder', async (context) => {
    const { run, runtime } = await newNode(context)
    const security = decideSecurity({}, { runAsUser: 65534, runAsGroup: 65533 }, false)
    const env = [['PATH', '/bin:/usr/bin'] as const, ['COLOUR', 'dark "blue"'] as const]
    await run(0, forever, {}, { security, env, workingDir: '/usr' })
    const began = { container: 'main', attempt: 0 }
    const ask = (...command: string[]) => runtime.exec(sandbox, began, command, deadlineMs)
    const isRunning = async () => runtime.state(sandbox, began, Date.now()).kind === 'running'
    await untilAsync('the container runs', isRunning, deadlineMs)
    // The shim publishes the pid a moment before the process enters its working folder.
    await untilAsync('it is in its folder', async () => (await ask('pwd')).output === '/usr\n', deadlineMs)
    assert.equal((await ask('sh', '-c', 'id -u; id -g; id -G')).output, '65534\n65533\n65533\n')
    assert.equal((await ask('env')).output, 'PATH=/bin:/usr/bin\nCOLOUR=dark "blue"\n')
  })

  test('run probe programs with the same rights and the same view', async (context) => {
    const { run, runtime } = await newNode(context)
    const security = decideSecurity(
      { supplementalGroups: [7] },
      { capabilities: { drop: ['ALL'], add: ['KILL'] } },
      false,
    )
    await run(0, `sleep 600 & ${forever}`, { memoryBytes: 64 * 1024 * 1024 }, { security, workingDir: '/tmp' })
    const began = { container: 'main', attempt: 0 }
    const isRunning = async () => runtime.state(sandbox, began, Date.now()).kind === 'running'
    await untilAsync('the container runs', isRunning, deadlineMs)
    const ask = async (script: string) =>
      (await runtime.exec(sandbox, began, ['/bin/sh', '-c', script], deadlineMs)).output
    const rights =
      "grep -E '^(Cap|NoNewPrivs|Seccomp:|Uid|Gid|Groups)' /proc/$PID/status; cat /proc/$PID/cgroup; ls -l /proc/$PID/ns"
    const withoutTimes = (text: string) => text.replaceAll(/^l\S+ .* (\S+ -> )/gm, '$1')
    assert.equal(withoutTimes(await ask(`PID=self; ${rights}`)), withoutTimes(await ask(`PID=1; ${rights}`)))
    assert.match(await ask('cat /etc/shadow'), /No such file/)
    assert.equal(await ask('pwd; ls /proc/self/fd | head -n 3 | tr "\\n" " "'), '/tmp\n0 1 2 ')
    const change = ['/proc/self/exe', '-e', `chmod 0755, '/proc/self/exe' or print "$!\n"`]
    assert.equal((await runtime.exec(sandbox, began, change, deadlineMs)).output, 'Read-only file system\n')
    assert.deepEqual(await runtime.exec(sandbox, began, ['/bin/nothing'], deadlineMs), {
      exitCode: 127,
      output: 'platnet: /bin/nothing: No such file or directory\n',
    })
  })

  test('of an earlier version still run probe programs, as their user and with their variables', async (context) => {
    const { runtime, folders } = await newNode(context)
    const env = { PLATNET_USER: '65534:65533', PLATNET_ENV_COUNT: '1', PLATNET_ENV_0: 'COLOUR=dark "blue"' }
    const earlier = await runProgram('sleep', ['600'], { background: true, env })
    context.after(() => earlier.kill('SIGKILL'))
    const began = { container: 'main', attempt: 0 }
    const folder = folders.runFolder(uid, began)
    mkdirSync(folder, { recursive: true })
    const { pid, startTicks } = findProcess(earlier.pid) ?? {}
    for (const file of ['shim', 'pid']) writeFileSync(join(folder, file), `${pid} ${startTicks}\n`)
    assert.equal(runtime.state(sandbox, began, Date.now()).kind, 'running')
    const ask = (...command: string[]) => runtime.exec(sandbox, began, command, deadlineMs)
    assert.equal((await ask('/usr/bin/env')).output, 'COLOUR=dark "blue"\n')
    assert.equal((await ask('/usr/bin/id', '-u')).output, '65534\n')
  })
})

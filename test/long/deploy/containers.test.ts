import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { runIsolated } from '../../../src/demo/isolate.ts'
import { readBuildInfo } from '../../../src/observe/index.ts'
import { ContainerEngine } from '../../helpers/container-engine.ts'
import { skipReason } from '../../helpers/netns.ts'

const root = resolve(import.meta.dirname, '../../..')

/** Debian 12 has 1.0.3, which runs health checks as one word. */
function missingCompose(): string | false {
  const { stdout } = spawnSync('podman-compose', ['--version'], { encoding: 'utf8' })
  const [, major = 0, minor = 0] = /podman-compose version (\d+)\.(\d+)/.exec(stdout ?? '') ?? []
  const isNew = Number(major) > 1 || (Number(major) === 1 && Number(minor) >= 2)
  return !isNew && 'needs podman-compose 1.2 or later: pip install podman-compose'
}

const missing = skipReason('podman', 'crun', 'debootstrap', 'dig', 'unshare', 'nft')
const skip =
  (missing && `${missing}: apt-get install --no-install-recommends podman buildah crun debootstrap`) || missingCompose()

describe('the image and the compose file under Podman', { skip }, () => {
  let folder = ''
  let labels: Record<string, string> = {}
  // biome-ignore lint/suspicious/noExplicitAny: what the program saw, judged below
  let seen: any

  before(async () => {
    folder = mkdtempSync('/var/tmp/plt-containers-')
    const engine = new ContainerEngine(folder)
    await engine.build()
    labels = JSON.parse(await engine.podman('inspect', '--format', '{{json .Config.Labels}}', 'localhost/platnet:test'))
    const program = join(import.meta.dirname, 'containers.program.ts')
    const signal = AbortSignal.timeout(480_000)
    const { exitCode, stdout } = await runIsolated(program, [folder], { signal, stdout: 'pipe' })
    assert.equal(exitCode, 0, 'the program failed; its output is above')
    seen = JSON.parse(stdout.trimEnd().split('\n').at(-1) ?? '')
  })
  after(() => rmSync(folder, { recursive: true, force: true }))

  test('The labels of the image name version and commit.', () => {
    const { version, commit } = readBuildInfo(root)
    assert.equal(labels['org.opencontainers.image.version'], version)
    assert.equal(labels['org.opencontainers.image.revision'], commit)
  })

  test('A Service answers from inside and outside of the containers, and its name does.', () => {
    assert.equal(seen.fromInside, 'web')
    assert.equal(seen.afterRestart.name, '10.96.0.77')
  })

  test('The health check of a service that is stuck fails, and succeeds once it goes on.', () => {
    assert.deepEqual(seen.stuck, { server: true, agent: true })
  })

  test("No request to a Service fails while the agent's container restarts, and no ended process stays.", () => {
    assert.ok(seen.restart.asked > 50, `${seen.restart.asked} requests`)
    assert.deepEqual(seen.restart.failures, [])
    assert.deepEqual(seen.afterRestart.zombies, [])
  })

  test('The server has no capability and the agent four; no root can be written.', () => {
    // NET_BIND_SERVICE 10, NET_ADMIN 12, NET_RAW 13, SYS_NICE 23 in linux/capability.h.
    const four = [10, 12, 13, 23].reduce((bits, bit) => bits + 2 ** bit, 0)
    assert.deepEqual(seen.capabilities, { server: '0'.repeat(16), agent: four.toString(16).padStart(16, '0') })
    assert.equal(seen.isRootWritable, false)
  })

  test('cleanup removes every rule, and `down --volumes` every container and volume.', () => {
    assert.ok(seen.rulesBefore > 0)
    assert.equal(seen.rulesAfter, 0)
    assert.equal(seen.left, '')
  })
})

import assert from 'node:assert/strict'
import { mkdirSync, readdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { decideSecurity } from '../../../../src/node/pods/security-context.ts'
import { writeAtomically } from '../../../../src/node/pods/volumes/atomic-files.ts'
import { skipReason } from '../../../helpers/netns.ts'
import { containerLog, makeRoot, runContainer, shell } from '../../../helpers/run-container.ts'
import { makeTemporaryFolder } from '../../../helpers/temporary-folder.ts'
import { until } from '../../../helpers/until.ts'

const target = '/var/run/secrets/kubernetes.io/serviceaccount'

async function makeVolume(context: TestContext, token = 'secret', mode = 0o644, uid = 0, group?: number) {
  const source = join(makeTemporaryFolder(context), 'volume')
  await writeAtomically(source, new Map([['token', { data: Buffer.from(`${token}\n`), mode, uid }]]), group)
  return source
}

describe('a container with a volume', { skip: skipReason('perl', 'setsid', 'ldd') }, () => {
  test('reads its files, also below the link /var/run, and cannot change them, as root or not', async (context) => {
    const volumes = [{ source: await makeVolume(context), target }]
    const script = `cat ${target}/token; echo x >${target}/token; echo x >${target}/new; rm ${target}/token; ls ${target}`
    for (const runAsUser of [0, 1000]) {
      const security = decideSecurity({}, { runAsUser }, false)
      const { log } = await runContainer(context, shell(script, { security }), { volumes })
      const [token, ...lines] = log.trimEnd().split('\n')
      assert.equal(token, 'secret')
      assert.equal(lines.at(-1), 'token')
      const refusals = lines.slice(0, -1)
      assert.equal(refusals.length, 3, log)
      for (const line of refusals) assert.match(line, /Read-only file system|Permission denied/)
    }
  })

  test('has it mounted read-only, without set-user-ID programs and devices', async (context) => {
    const volumes = [{ source: await makeVolume(context), target }]
    const script = "grep ' /run/secrets/kubernetes.io/serviceaccount ' /proc/self/mountinfo"
    const { log } = await runContainer(context, shell(script), { volumes })
    const [, , , , , flags = ''] = log.split(' ')
    assert.deepEqual(
      flags.split(',').filter((flag) => ['ro', 'nosuid', 'nodev'].includes(flag)),
      ['ro', 'nosuid', 'nodev'],
    )
  })

  const owners: readonly (readonly [string, object, string])[] = [
    ['its user', { runAsUser: 1000 }, 'secret\n'],
    ['another user', { runAsUser: 1001 }, `cat: ${target}/token: Permission denied\n`],
  ]
  for (const [who, context, wanted] of owners)
    test(`gives a file of one user to that user alone: ${who}`, async (t) => {
      const volumes = [{ source: await makeVolume(t, 'secret', 0o600, 1000), target }]
      const security = decideSecurity({}, context, false)
      const { log } = await runContainer(t, shell(`cat ${target}/token`, { security }), { volumes })
      assert.equal(log, wanted)
    })

  test('gives a file of a group to the members of the group', async (context) => {
    const volumes = [{ source: await makeVolume(context, 'secret', 0o640, 0, 2000), target }]
    const security = decideSecurity({ fsGroup: 2000 }, { runAsUser: 1000 }, false)
    const { log } = await runContainer(context, shell(`cat ${target}/token`, { security }), { volumes })
    assert.equal(log, 'secret\n')
  })

  test('sees updates of the volume while it runs', async (context) => {
    const source = await makeVolume(context, 'old')
    const read = `read -r token <${target}/token`
    const script = `${read}; echo $token; while test "$token" = old; do sleep 0.05; ${read}; done; echo $token`
    const folder = makeTemporaryFolder(context)
    const running = runContainer(context, shell(script), { volumes: [{ source, target }] }, folder)
    await until('it has read the old one', () => containerLog(folder) === 'old\n', 30_000)
    await writeAtomically(source, new Map([['token', { data: Buffer.from('new\n'), mode: 0o644, uid: 0 }]]), undefined)
    assert.equal((await running).log, 'old\nnew\n')
  })

  test('has one volume within another', async (context) => {
    const [outer, inner] = [await makeVolume(context, 'outer'), await makeVolume(context, 'inner')]
    mkdirSync(join(outer, 'in'))
    const volumes = [
      { source: outer, target: '/data' },
      { source: inner, target: '/data/in' },
    ]
    const { log } = await runContainer(context, shell('cat /data/token /data/in/token'), { volumes })
    assert.equal(log, 'outer\ninner\n')
  })

  test('does not start if the mount path cannot be created, and names the path', async (context) => {
    const volumes = [{ source: await makeVolume(context), target: '/usr/share/platnet-none' }]
    const { exitCode, log } = await runContainer(context, shell('echo began'), { volumes })
    assert.equal(exitCode, 128)
    assert.match(log, /^platnet: mkdir \/usr\/share\/platnet-none: Read-only file system\n$/)
  })

  test('does not start if the volume is missing', async (context) => {
    const volumes = [{ source: join(makeTemporaryFolder(context), 'gone'), target }]
    const { exitCode, log } = await runContainer(context, shell('echo began'), { volumes })
    assert.equal(exitCode, 128)
    assert.match(log, /^platnet: open_tree .*gone: No such file or directory\n$/)
  })

  test('has it in its root filesystem, where links stay within that', async (context) => {
    const rootFilesystem = await makeRoot(context)
    const outside = makeTemporaryFolder(context)
    for (const folder of ['var', 'run', outside]) mkdirSync(join(rootFilesystem, folder), { recursive: true })
    symlinkSync('../run', join(rootFilesystem, 'var', 'run'))
    symlinkSync(outside, join(rootFilesystem, 'link'))
    symlinkSync('../../../../../..', join(rootFilesystem, 'up'))
    const source = await makeVolume(context)
    const volumes = [target, '/link/deep', `/up${outside}/far`].map((each) => ({ source, target: each }))
    const reads = volumes.map((each) => `read -r line <${each.target}/token && echo $line`)
    const { exitCode, log } = await runContainer(context, shell(reads.join('; '), { rootFilesystem }), { volumes })
    assert.deepEqual([exitCode, log], [0, 'secret\nsecret\nsecret\n'])
    assert.deepEqual(readdirSync(outside), [])
    assert.deepEqual(readdirSync(join(rootFilesystem, outside)).toSorted(), ['deep', 'far'])
  })

  test('does not start if its mount path is a dangling link', async (context) => {
    const rootFilesystem = await makeRoot(context)
    symlinkSync('/nowhere/at/all', join(rootFilesystem, 'data'))
    const volumes = [{ source: await makeVolume(context), target: '/data' }]
    const { exitCode, log } = await runContainer(context, shell('echo began', { rootFilesystem }), { volumes })
    assert.equal(exitCode, 128)
    assert.match(log, /^platnet: mkdir \/data: File exists\n$/)
  })
})

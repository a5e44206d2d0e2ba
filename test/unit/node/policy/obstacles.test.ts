import assert from 'node:assert/strict'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { ExecError, type Run } from '../../../../src/host/index.ts'
import { findMissingParts, findPolicyObstacles } from '../../../../src/node/policy/index.ts'
import { makeTemporaryFolder } from '../../../helpers/temporary-folder.ts'

const works = (async () => ({ stdout: '', stderr: '', pid: 1 })) as unknown as Run
const isMissing = (async (file: string) => {
  throw new ExecError('not-found', `${file}: there is no such program`, {
    command: file,
    exitCode: undefined,
    stderr: '',
  })
}) as unknown as Run

describe('the obstacles to enforcing policies', () => {
  test('are none where bridges show their packets to both families and ipset works', async (context) => {
    const sysctlRoot = makeTemporaryFolder(context)
    await mkdir(join(sysctlRoot, 'net/bridge'), { recursive: true })
    for (const name of ['bridge-nf-call-iptables', 'bridge-nf-call-ip6tables'])
      await writeFile(join(sysctlRoot, 'net/bridge', name), '1\n')
    assert.deepEqual(await findPolicyObstacles({ families: ['IPv4', 'IPv6'], run: works, sysctlRoot }), [])
    await writeFile(join(sysctlRoot, 'net/bridge/bridge-nf-call-ip6tables'), '0\n')
    const [obstacle, ...others] = await findPolicyObstacles({ families: ['IPv4', 'IPv6'], run: works, sysctlRoot })
    assert.deepEqual(others, [])
    assert.match(obstacle ?? '', /bridge-nf-call-ip6tables is 0.*sysctl -w net\.bridge\.bridge-nf-call-ip6tables=1/)
  })

  test('name the missing module and the missing program, each with its remedy', async (context) => {
    const sysctlRoot = makeTemporaryFolder(context)
    const [bridge, sets] = await findPolicyObstacles({ families: ['IPv4'], run: isMissing, sysctlRoot })
    assert.match(bridge ?? '', /bridge-nf-call-iptables is missing.*modprobe br_netfilter/)
    assert.match(sets ?? '', /ipset does not work.*install the package ipset/)
  })

  test('nothing is tried where rules of policies stand', async () => {
    const asked: string[] = []
    const run = (async (file: string) => {
      asked.push(file)
      return { stdout: '', stderr: '', pid: 1 }
    }) as unknown as Run
    assert.deepEqual(await findMissingParts(run), [])
    assert.deepEqual(new Set(asked), new Set(['iptables-nft', 'iptables-legacy', 'iptables']))
  })
})

import assert from 'node:assert/strict'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { KeptSysctls } from '../../../../src/app/lifecycle/kept-sysctls.ts'
import { nodeSysctls } from '../../../../src/host/index.ts'
import { createRecordingLogger } from '../../../helpers/recording-logger.ts'
import { makeTemporaryFolder } from '../../../helpers/temporary-folder.ts'
import { until } from '../../../helpers/until.ts'

test('forwarding that another program switched off is on again after the next look, and the log says so once', async (test) => {
  const root = makeTemporaryFolder(test)
  const setting = join(root, 'net/ipv4/ip_forward')
  await mkdir(join(root, 'net/ipv4'), { recursive: true })
  await writeFile(setting, '0\n')
  const { log, lines } = createRecordingLogger()
  // The other setting does not exist here, which the start of an agent reports.
  const kept = new KeptSysctls({ wishes: nodeSysctls, log, root, intervalMs: 5 })
  await kept.start()
  await until('the log says so', () => lines.length > 0)
  await kept.stop({ signal: AbortSignal.timeout(1_000) })
  assert.equal(await readFile(setting, 'utf8'), '1\n')
  assert.deepEqual(lines, ['warn a kernel setting that another program changed is set again'])
})

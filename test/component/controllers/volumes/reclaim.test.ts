import assert from 'node:assert/strict'
import { chownSync, existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, test } from 'node:test'
import { volumeSchema } from '../../../../src/controllers/objects/volume.ts'
import { reclaim } from '../../../../src/controllers/volumes/reclaim.ts'
import { volumeNames } from '../../../../src/model/volume-names.ts'

const names = volumeNames('kubernetes.io')

describe('the reclaim policy', () => {
  let root = ''
  beforeEach(() => {
    root = mkdtempSync('/tmp/plt-reclaim-')
    mkdirSync(join(root, 'disk'))
    writeFileSync(join(root, 'disk/data'), 'x')
  })
  afterEach(() => rmSync(root, { recursive: true, force: true }))

  const of = (spec: object, annotations: object = {}) =>
    reclaim(volumeSchema.parse({ metadata: { name: 'v', annotations }, spec }), names)
  const deletes = (path: string) => of({ persistentVolumeReclaimPolicy: 'Delete', hostPath: { path } })

  test('Retain, and Delete of what a provisioner made, leave the volume alone', async () => {
    const hostPath = { path: join(root, 'disk') }
    assert.equal((await of({ persistentVolumeReclaimPolicy: 'Retain', hostPath })).kind, 'kept')
    const made = { [names.provisionedBy]: 'disk.example.com' }
    assert.equal((await of({ persistentVolumeReclaimPolicy: 'Delete', hostPath }, made)).kind, 'kept')
    assert.ok(existsSync(join(root, 'disk/data')))
  })

  test('Delete removes a folder below /tmp, and is content with one that is gone', async () => {
    for (let times = 0; times < 2; times++) assert.equal((await deletes(join(root, 'disk'))).kind, 'deleted')
    assert.ok(!existsSync(join(root, 'disk')))
  })

  test('Delete removes nothing outside, by name or by a link, and nothing in a folder of another user', async () => {
    const outside = mkdtempSync('/var/tmp/plt-reclaim-')
    try {
      mkdirSync(join(outside, 'kept'))
      symlinkSync(outside, join(root, 'link'))
      const foreign = join(root, 'foreign')
      mkdirSync(join(foreign, 'disk'), { recursive: true })
      if (process.getuid?.() === 0) chownSync(foreign, 65_534, 65_534)
      const refused = ['/tmp', '/tmp/', '/etc', outside, join(root, 'link/kept')]
      for (const path of refused) assert.equal((await deletes(path)).kind, 'failed', path)
      if (process.getuid?.() === 0) assert.equal((await deletes(join(foreign, 'disk'))).kind, 'failed')
      assert.ok(existsSync(join(outside, 'kept')))
      assert.equal((await deletes(join(root, 'link'))).kind, 'deleted', 'the link alone goes')
      assert.ok(existsSync(join(outside, 'kept')))
    } finally {
      rmSync(outside, { recursive: true, force: true })
    }
  })

  test('Recycle, and Delete of other volumes, say why they cannot be done', async () => {
    const recycled = await of({ persistentVolumeReclaimPolicy: 'Recycle', hostPath: { path: root } })
    assert.ok(recycled.kind === 'failed' && recycled.reason === 'VolumeFailedRecycle')
    const other = await of({ persistentVolumeReclaimPolicy: 'Delete' })
    assert.ok(other.kind === 'failed' && /no deletable volume plugin matched/.test(other.message))
  })
})

import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Checks whether the images in the folder of `cluster/build.sh` are those that `cluster/images.sh` makes now. */
export function hasImages(work: string): boolean {
  const ready = join(work, 'images/.ready')
  const script = readFileSync(join(import.meta.dirname, 'cluster/images.sh'))
  return existsSync(ready) && readFileSync(ready, 'utf8').trim() === createHash('sha256').update(script).digest('hex')
}

import { readFileSync } from 'node:fs'
import { z } from 'zod'

const packageInfo = z.object({ version: z.string(), description: z.string() })

/** What package.json says of this program. */
export function readPackageInfo(): z.infer<typeof packageInfo> {
  return packageInfo.parse(JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')))
}

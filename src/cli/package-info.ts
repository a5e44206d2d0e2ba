import { readFileSync } from 'node:fs'
import { z } from 'zod'

const packageInfo = z.object({ version: z.string(), description: z.string() })

/** Reads name, version and description from package.json. */
export function readPackageInfo(): z.infer<typeof packageInfo> {
  return packageInfo.parse(JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')))
}

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'

/** A folder of the test's own, removed when the test ends. A program that is just ending may still write a file there: then once more. */
export function makeTemporaryFolder(test: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'plt-test-'))
  test.after(() => rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 20 }))
  return folder
}

import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'

/** The text of a golden file. UPDATE_GOLDEN=1 writes what is there now; the difference is then read and committed by a person. */
export function readGolden(folder: URL, file: string, current: string): string {
  const path = new URL(file, folder)
  if (process.env['UPDATE_GOLDEN'] === '1') {
    mkdirSync(folder, { recursive: true })
    writeFileSync(path, current)
  }
  return existsSync(path) ? readFileSync(path, 'utf8') : ''
}

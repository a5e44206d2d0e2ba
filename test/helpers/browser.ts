import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { chromium, type Page } from 'playwright-core'

const program = '/usr/bin/chromium'

/** The reason why a test with a browser cannot run here; false where it can. */
export const browserSkipReason: string | false = existsSync(program) ? false : 'needs apt-get install chromium'

interface BrowserOptions {
  readonly width?: number
  readonly height?: number
  readonly scheme?: 'light' | 'dark'
}

/** A page of a new browser, and everything that went wrong in it: errors, refused content, long tasks. */
export interface WatchedPage {
  readonly page: Page
  readonly errors: readonly string[]
  /** Milliseconds of each task of the main thread that took 50 ms or more since the last call. */
  takeLongTasks(): Promise<readonly number[]>
}

/** Opens Chromium with an empty profile; both end with the test. */
export async function openBrowser(
  context: TestContext,
  { width = 1280, height = 800, scheme = 'light' }: BrowserOptions = {},
): Promise<WatchedPage> {
  const profile = await mkdtemp(join(tmpdir(), 'platnet-browser-'))
  const browser = await chromium.launchPersistentContext(profile, {
    executablePath: program,
    headless: true,
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
    colorScheme: scheme,
    viewport: { width, height },
  })
  context.after(async () => {
    await browser.close()
    await rm(profile, { recursive: true, force: true })
  })
  const page = await browser.newPage()
  const errors: string[] = []
  page.on('pageerror', ({ message }) => errors.push(message))
  page.on('console', (message) => {
    if (message.type() === 'error') errors.push(message.text())
  })
  await page.addInitScript(watchLongTasks)
  const takeLongTasks = () => page.evaluate<number[]>('longTasks.splice(0)')
  return { page, errors, takeLongTasks }
}

/** Runs in the browser: `longTasks` is global there. */
const watchLongTasks = `
  globalThis.longTasks = []
  new PerformanceObserver((list) => globalThis.longTasks.push(...list.getEntries().map(({ duration }) => duration)))
    .observe({ type: 'longtask', buffered: true })
`

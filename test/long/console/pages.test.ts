import assert from 'node:assert/strict'
import http from 'node:http'
import { type TestContext, test } from 'node:test'
import type { ConsoleSource } from '../../../src/console/index.ts'
import { createConsole, explainInCluster } from '../../../src/console/index.ts'
import { browserSkipReason, openBrowser } from '../../helpers/browser.ts'
import { endpointAt, FakeServices, fakeSource, hostile, putMany, serviceAt } from '../../helpers/console-source.ts'
import { findFreePort } from '../../helpers/free-port.ts'
import { untilAsync } from '../../helpers/until.ts'

const options = { skip: browserSkipReason, timeout: 120_000 }

const status = {
  components: { rules: { level: 'ok', message: 'in step' }, dns: { level: 'degraded', message: hostile } },
  proxy: [
    {
      family: 'IPv4',
      setAside: [{ service: 'default/web-00007', reason: hostile }],
      lastSync: { atMs: 1, kind: 'partial', durationMs: 8 },
    },
  ],
  policy: { policies: 2, obstacles: [hostile], isolated: { ingress: 1, egress: 0 }, localPods: 1, problems: [] },
  ingress: { ingresses: { ours: 1, foreign: 0 }, hosts: 1, backendsDown: [hostile], problems: [] },
  problems: [hostile],
}

const nodes = [
  {
    name: hostile,
    isReady: false,
    isSchedulable: false,
    messages: [hostile],
    addresses: ['192.0.2.1'],
    podCidrs: ['10.244.0.0/24'],
    taints: [hostile],
    version: hostile,
    system: hostile,
    since: '2026-01-01T00:00:00Z',
  },
]

const events = [
  { type: 'Warning', at: '2026-01-01T00:00:00Z', subject: hostile, reason: hostile, message: hostile, count: 3 },
]

const matrix = {
  namespace: 'default',
  groups: [{ id: 0, namespace: 'default', pods: [`default/${hostile}`] }],
  rows: [
    {
      group: 0,
      isolatedBy: { ingress: [`default/${hostile}`], egress: [] },
      from: [{ reach: [{ ports: [{ protocol: 'TCP', first: 80, last: 80 }] }], groups: [0], addresses: [] }],
      to: [],
    },
  ],
}

/** Questions whose answers carry hostile text wherever the cluster could put some. */
function questionsOf(services: FakeServices): ConsoleSource['questions'] {
  const answer = (body: unknown) => async () => ({ status: 200, body }) as const
  return {
    '/explain/flow': answer({ lines: [hostile] }),
    '/explain/url': async () => ({ status: 400, body: { error: hostile } }),
    '/dns/explain': answer({
      plugin: hostile,
      ageMs: 0,
      answer: { code: 'NOERROR', isAuthoritative: true, answer: [hostile], authority: [], additional: [] },
    }),
    '/policy/namespaces': answer([{ name: 'default', policies: 1 }]),
    '/policy/matrix': answer({ matrix, problems: [hostile] }),
    '/service': async (query) => {
      const service = services.service(query.get('service') ?? '')
      if (service === undefined) return { status: 404, body: { error: 'no such Service' } }
      return { status: 200, body: { families: explainInCluster(service, services.slicesOf(service.key)) } }
    },
  }
}

async function serve(context: TestContext, services: FakeServices, scope: 'node' | 'cluster' = 'node', port?: number) {
  const documents = { status: () => status, ...(scope === 'cluster' && { nodes: () => nodes, events: () => events }) }
  const { source } = fakeSource(services, { scope, documents, questions: questionsOf(services) })
  const console = await createConsole(source)
  const server = http.createServer((message, response) => void console.handle(message, response))
  const used = port ?? (await findFreePort())
  await new Promise<void>((resolve) => server.listen(used, '127.0.0.1', resolve))
  const stop = async () => {
    await console.close()
    server.closeAllConnections()
    server.close()
  }
  context.after(stop)
  return { url: `http://127.0.0.1:${used}/console/`, port: used, stop }
}

function servicesOf(count: number): FakeServices {
  const services = new FakeServices()
  putMany(services, count)
  const target = `Pod default/${hostile}`
  services.put(serviceAt(0, { type: 'ExternalName', externalName: hostile }), [])
  services.put(serviceAt(1), [endpointAt('10.244.0.1', { target }), endpointAt('10.244.0.2', { ready: false, target })])
  return services
}

const views = {
  node: ['overview', 'services', 'services/default%2Fweb-00001', 'explain', 'policies'],
  cluster: ['overview', 'nodes', 'services', 'policies', 'events'],
} as const

for (const scope of ['node', 'cluster'] as const) {
  for (const { width, scheme } of [
    { width: 1280, scheme: 'light' },
    { width: 360, scheme: 'dark' },
  ] as const) {
    test(
      `Every view of the ${scope} shows hostile names as text, ${width} px wide and ${scheme}.`,
      options,
      async (context) => {
        const { url } = await serve(context, servicesOf(50), scope)
        const { page, errors } = await openBrowser(context, { width, height: 740, scheme })
        for (const view of views[scope]) {
          await page.goto(`${url}#/${view}`)
          await page.waitForSelector('main .panel >> visible=true')
          await waitIn(page, '!document.querySelector("main").textContent.includes("Loading")')
          if (view === 'explain') await askAll(page)
          const seen = await page.evaluate<{ wide: boolean; foreign: number; text: string; dark: boolean }>(`({
          wide: document.documentElement.scrollWidth > innerWidth,
          foreign: document.querySelectorAll('main img, main script').length,
          text: document.querySelector('main').textContent,
          dark: getComputedStyle(document.documentElement).backgroundColor === 'rgb(18, 20, 23)',
        })`)
          assert.deepEqual([view, seen.wide, seen.foreign, seen.dark], [view, false, 0, scheme === 'dark'])
          assert.ok(seen.text.includes('<script>'), `${view} shows the hostile text`)
        }
        assert.doesNotMatch(await page.title(), /taken/)
        // The browser itself reports the answer 400 of the question about a URL.
        assert.deepEqual(
          errors.filter((error) => !/status of 400/.test(error)),
          [],
        )
      },
    )
  }
}

type Page = Awaited<ReturnType<typeof openBrowser>>['page']

/** Waits until an expression is true; `waitForFunction` of Playwright needs `eval`, which the page forbids. */
async function waitIn(page: Page, expression: string): Promise<void> {
  await untilAsync(expression, () => page.evaluate<boolean>(expression), 10_000)
}

async function askAll(page: Page): Promise<void> {
  const [flow, url, dns] = [0, 1, 2].map((index) => page.locator('form').nth(index))
  for (const text of ['10.0.0.1', '10.0.0.2', '80'].entries()) await flow?.locator('input').nth(text[0]).fill(text[1])
  await url?.locator('input').fill('http://shop.example.com/')
  await dns?.locator('input').fill('web.default.svc.cluster.local')
  for (const form of [flow, url, dns]) await form?.locator('button').click()
  await waitIn(page, 'document.querySelectorAll(".answer > *").length >= 3')
}

test('On a phone no cell of Nodes and Events is out of sight.', options, async (context) => {
  const { url } = await serve(context, servicesOf(5), 'cluster')
  const { page } = await openBrowser(context, { width: 360, height: 740 })
  for (const [view, cells] of [
    ['nodes', 6],
    ['events', 5],
  ] as const) {
    await page.goto(`${url}#/${view}`)
    await page.waitForSelector('tbody td >> visible=true')
    const seen = await page.evaluate<number>(
      `[...document.querySelectorAll('tbody td')].filter((cell) => {
        const { right, width } = cell.getBoundingClientRect()
        return width > 0 && right <= innerWidth
      }).length`,
    )
    assert.equal(seen, cells, view)
  }
})

test(
  'A figure leads to its view, and a Service to the form that explains a connection to it.',
  options,
  async (context) => {
    const { url } = await serve(context, servicesOf(5))
    const { page } = await openBrowser(context)
    await page.goto(`${url}#/overview`)
    await page.locator('.tile', { hasText: 'Network policies' }).click()
    await page.waitForSelector('.policies')
    await page.goto(`${url}#/services/default%2Fweb-00001`)
    await page.locator('.explain-link').click()
    await waitIn(page, `document.activeElement?.matches('.question input')`)
    const filled = await page.evaluate<string[]>(
      `[...document.querySelector('form').querySelectorAll('input, select')].map(({ value }) => value)`,
    )
    assert.deepEqual(filled, ['', '10.96.0.1', '80', 'TCP'])
  },
)

test('All is reached and used with the keyboard alone.', options, async (context) => {
  const { url } = await serve(context, servicesOf(300))
  const { page } = await openBrowser(context)
  const focused = () =>
    page.evaluate<string>(`document.activeElement.getAttribute('aria-label') ?? document.activeElement.textContent`)
  await page.goto(url)
  await page.waitForSelector('#views a')
  const walked: string[] = []
  for (let step = 0; step < 6; step++) {
    await page.keyboard.press('Tab')
    walked.push(await focused())
  }
  assert.deepEqual(walked, ['Skip to the content', 'Cluster', 'Overview', 'Services', 'Explain', 'Policies'])
  await page.keyboard.press('Alt+2')
  await page.waitForSelector('.virtual-list .service-row')
  await page.keyboard.press('/')
  assert.equal(await focused(), 'Filter Services')
  await page.keyboard.type('web-0002')
  await waitIn(page, 'document.querySelector(".toolbar output").textContent === "10 of 300"')
  await page.keyboard.press('Tab')
  await page.keyboard.press('Tab')
  assert.equal(await focused(), 'Services')
  for (const key of ['End', 'ArrowUp', 'Home', 'ArrowDown', 'Enter']) await page.keyboard.press(key)
  await page.waitForSelector('.detail h2')
  assert.equal(await page.textContent('.detail h2'), 'default/web-00021')
  await page.locator('.detail button').focus()
  await page.keyboard.press('Escape')
  await waitIn(page, 'document.querySelector(".detail-pane").hidden')
  assert.equal(await focused(), 'Services')
})

/** Runs in the browser: proves that long tasks are seen. */
const oneLongTask = `new Promise((done) =>
  setTimeout(() => {
    const endMs = performance.now() + 150
    while (performance.now() < endMs);
    setTimeout(done, 100)
  }),
)`

test('10,000 Services scroll and change without a long task, and few rows exist.', options, async (context) => {
  const services = servicesOf(10_000)
  const { url } = await serve(context, services)
  const { page, errors, takeLongTasks } = await openBrowser(context)
  await page.goto(`${url}#/services`)
  await waitIn(page, 'document.querySelector(".toolbar output")?.textContent.replace(/\\D/g, "") === "10000"')
  const atStart = await takeLongTasks()
  let round = 0
  const changing = setInterval(() => {
    round += 1
    const indexes = Array.from({ length: 20 }, (_, index) => (round * 20 + index) % 2_000)
    for (const index of indexes) services.put(serviceAt(index), [endpointAt('10.244.0.9', { ready: round % 2 === 0 })])
    services.tell(...indexes.map((index) => serviceAt(index).key))
  }, 50)
  context.after(() => clearInterval(changing))
  const box = await page.locator('.virtual-list').boundingBox()
  await page.mouse.move((box?.x ?? 0) + 100, (box?.y ?? 0) + 100)
  for (let step = 0; step < 60; step++) {
    await page.mouse.wheel(0, step % 3 === 0 ? 9_000 : 400)
    await page.waitForTimeout(50)
  }
  await page.keyboard.press('/')
  await page.keyboard.type('web-09')
  const rows = await page.evaluate<number>('document.querySelectorAll(".virtual-body > *").length')
  const tasks = await takeLongTasks()
  context.diagnostic(
    `long tasks: at the start ${atStart.map(Math.round)} ms, then ${tasks.map(Math.round)} ms; ${rows} rows`,
  )
  assert.ok(rows < 80, `${rows} rows exist`)
  await page.evaluate(oneLongTask)
  assert.equal((await takeLongTasks()).filter((ms) => ms > 100).length, 1, 'a long task would be seen')
  assert.deepEqual(
    tasks.filter((ms) => ms > 100),
    [],
  )
  assert.deepEqual(errors, [])
})

test(
  'After a restart of the server the page goes on with what it shows, and then with what is new.',
  options,
  async (context) => {
    const services = servicesOf(2_000)
    const { url, port, stop } = await serve(context, services)
    const { page } = await openBrowser(context)
    await page.goto(`${url}#/services`)
    await page.waitForSelector('.virtual-list .service-row')
    await page.evaluate(`document.querySelector('.virtual-list').scrollTop = 3000`)
    const look = () =>
      page.evaluate<{ top: number; connection: string; text: string }>(`({
      top: document.querySelector('.virtual-list').scrollTop,
      connection: document.querySelector('#connection').textContent,
      text: document.querySelector('.virtual-list').textContent,
    })`)
    await untilAsync('the rows in sight are drawn', async () => (await look()).text.includes('web-00105'))
    await stop()
    await untilAsync('the page says that the connection is lost', async () =>
      /^Connection lost/.test((await look()).connection),
    )
    const lost = await look()
    assert.equal(lost.top, 3000)
    assert.ok(lost.text.includes('web-00105'))
    services.put(serviceAt(105, { type: 'LoadBalancer' }), [])
    await serve(context, services, 'node', port)
    await untilAsync('the page is live', async () => (await look()).connection === 'Live', 20_000)
    await untilAsync('the page shows the new type', async () => (await look()).text.includes('LoadBalancer'))
    assert.equal((await look()).top, 3000)
  },
)

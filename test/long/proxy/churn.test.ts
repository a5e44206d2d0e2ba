import { test } from 'node:test'
import { skipReason } from '../../helpers/netns.ts'
import { churnUnderLoad } from '../../kernel/node/proxy/churn.ts'
import { proxyForms } from '../../kernel/node/proxy/proxy-fixture.ts'

for (const [form, program] of proxyForms) {
  const skip = skipReason(program, 'conntrack')
  test(
    `endpoints come and go under load for a minute, and no connection notices (${form})`,
    { skip, timeout: 180_000 },
    () => churnUnderLoad(form, 60_000),
  )
  test(
    `endpoints of a Service of 1,000 ports, which is written in turns, come and go under load, and no connection notices (${form})`,
    { skip, timeout: 180_000 },
    () => churnUnderLoad(form, 30_000, 1000),
  )
}

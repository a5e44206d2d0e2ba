import { test } from 'node:test'
import { skipReason } from '../../../helpers/netns.ts'
import { churnUnderLoad } from './churn.ts'
import { proxyForms } from './proxy-fixture.ts'

for (const [form, program] of proxyForms) {
  test(
    `endpoints come and go under load, and no connection notices (${form})`,
    {
      skip: skipReason(program, 'conntrack'),
      timeout: 120_000,
    },
    () => churnUnderLoad(form, 4000),
  )
}

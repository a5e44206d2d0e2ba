import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type IpFamily, ipFamily } from '../../../../src/model/ip.ts'
import { PolicyPlan } from '../../../../src/node/policy/plan.ts'
import {
  cornerNamespaces,
  cornerNode,
  cornerPods,
  flowOf,
  policiesOf,
  policyCorners,
} from '../../../helpers/policy-corners.ts'
import { changesBetween, nothing } from '../../../helpers/policy-histories.ts'
import { PolicyKernel, packetOf } from '../../../helpers/policy-kernel.ts'

const families: readonly IpFamily[] = ['IPv4', 'IPv6']

describe('the planned rules, by corners of the semantics:', () => {
  for (const { title, policies, allowed = [], denied = [] } of policyCorners) {
    test(title, () => {
      const cluster = { policies: policiesOf(policies), pods: cornerPods, namespaces: cornerNamespaces }
      const kernels = families.map((family) => {
        const kernel = new PolicyKernel(family)
        const settings = { family, dnsAddresses: [], podCidrs: [], isolatesUnknown: false, logsDenied: false }
        kernel.apply(new PolicyPlan(settings).update(changesBetween(nothing, cluster)))
        return [family, kernel] as const
      })
      const verdict = (text: string) => {
        const packet = packetOf(flowOf(text))
        const [, kernel] = kernels.find(([family]) => family === ipFamily(packet.source)) ?? []
        return kernel?.walk(packet).verdict
      }
      const isForwarded = (text: string) => {
        const { source, destination } = packetOf(flowOf(text))
        return source !== cornerNode && destination !== cornerNode
      }
      for (const flow of allowed.filter(isForwarded)) assert.equal(verdict(flow), 'pass', flow)
      for (const flow of denied.filter(isForwarded)) assert.equal(verdict(flow), 'drop', flow)
    })
  }
})

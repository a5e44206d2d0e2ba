import { admissionPolicyCases, policyBindingCases } from './admission-policy-cases.ts'
import { autoscalerCases, autoscalerV1Cases } from './autoscaler-cases.ts'
import { coreCases } from './core-cases.ts'
import { cronJobCases } from './cron-job-cases.ts'
import { disruptionBudgetCases } from './disruption-budget-cases.ts'
import { ingressCases, ingressClassCases } from './ingress-cases.ts'
import { jobCases } from './job-cases.ts'
import { limitRangeCases } from './limit-range-cases.ts'
import { ipAddressCases, networkPolicyCases, serviceCidrCases } from './network-cases.ts'
import { bindingCases, evictionCases } from './pod-action-cases.ts'
import { ephemeralContainerCases, resizeCases } from './pod-part-cases.ts'
import { podTemplateCases } from './pod-template-cases.ts'
import { podPriorityCases, priorityClassCases } from './priority-cases.ts'
import { replicationControllerCases } from './replication-controller-cases.ts'
import { resourceQuotaCases } from './resource-quota-cases.ts'
import { reviewCases, tokenRequestCases } from './review-cases.ts'
import { clusterRoleBindingCases, clusterRoleCases, roleBindingCases, roleCases } from './role-cases.ts'
import { podRuntimeClassCases, runtimeClassCases } from './runtime-class-cases.ts'
import { signingRequestCases } from './signing-request-cases.ts'
import { csiNodeCases } from './storage-cases.ts'
import { claimCases, claimLimitCases, claimSizeCases, storageClassCases, volumeCases } from './volume-cases.ts'
import { mutatingWebhookCases, validatingWebhookCases } from './webhook-cases.ts'
import { workloadCreateCases } from './workload-create-cases.ts'
import { revisionCases, scaleUpdateCases, workloadUpdateCases } from './workload-update-cases.ts'
import type { KindCases } from './write-case.ts'

/** The built-in kinds; Pods and workloads have tables of their own. */
export const kindCases: readonly KindCases[] = [
  ...coreCases,
  admissionPolicyCases,
  policyBindingCases,
  ingressCases,
  ingressClassCases,
  networkPolicyCases,
  ipAddressCases,
  serviceCidrCases,
  roleCases,
  clusterRoleCases,
  roleBindingCases,
  clusterRoleBindingCases,
  workloadCreateCases,
  workloadUpdateCases,
  scaleUpdateCases,
  revisionCases,
  autoscalerCases,
  autoscalerV1Cases,
  jobCases,
  cronJobCases,
  priorityClassCases,
  podPriorityCases,
  limitRangeCases,
  resourceQuotaCases,
  replicationControllerCases,
  disruptionBudgetCases,
  signingRequestCases,
  runtimeClassCases,
  podRuntimeClassCases,
  podTemplateCases,
  bindingCases,
  evictionCases,
  ephemeralContainerCases,
  resizeCases,
  csiNodeCases,
  mutatingWebhookCases,
  validatingWebhookCases,
  volumeCases,
  claimCases,
  claimSizeCases,
  claimLimitCases,
  storageClassCases,
  reviewCases,
  tokenRequestCases,
]

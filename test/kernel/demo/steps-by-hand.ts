import { ingress } from '../../../src/demo/ingress-step.ts'
import { steps } from '../../../src/demo/steps.ts'

/** Without the Ingress: rules written by hand have no proxy. The demo itself (test/e2e) runs it. */
export const stepsByHand = steps.filter((step) => step !== ingress)

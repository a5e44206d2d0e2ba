import { resolve } from 'node:path'

/** The command `platnet` of the checkout: for what looks at its modules or files, and for agents whose pods and files a test reads beside it. */
export const checkoutLauncher = resolve(import.meta.dirname, '../../scripts/platnet')

/** The command `platnet`: bundled as the package has it where `npm test` runs, else that of the checkout. Both do the same; a bundle starts faster. */
export const launcher = process.env['PLATNET_TEST_PROGRAM'] ?? checkoutLauncher

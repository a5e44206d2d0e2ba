import { addressFunctions } from './addresses.ts'
import { authorizerFunctions } from './authorizer.ts'
import { conversionFunctions, sharedConversions } from './conversions.ts'
import { declareFunctions } from './declarations.ts'
import { formatFunctions } from './formats.ts'
import { laterListFunctions, listFunctions } from './lists.ts'
import { operators } from './operators.ts'
import { optionalFunctions } from './optionals.ts'
import { patternFunctions } from './patterns.ts'
import { quantityFunctions } from './quantities.ts'
import { textFunctions } from './texts.ts'
import { timeFunctions } from './times.ts'
import { urlFunctions } from './urls.ts'
import { versionFunctions } from './versions.ts'

const shared = [...operators, ...sharedConversions]
const functions = [
  ...conversionFunctions,
  ...timeFunctions,
  ...listFunctions,
  ...textFunctions,
  ...patternFunctions,
  ...optionalFunctions,
  ...quantityFunctions,
  ...versionFunctions,
  ...urlFunctions,
  ...formatFunctions,
  ...addressFunctions,
  ...authorizerFunctions,
]

/** The functions that Kubernetes 1.34 accepts in new rules. */
export const newFunctions = declareFunctions(functions, shared)
/** The functions that it accepts in stored rules, which a later version may have written. */
export const storedFunctions = declareFunctions([...functions, ...laterListFunctions], shared)

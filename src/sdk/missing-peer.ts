/** The error for an SDK that is not installed: an adapter needs the package of its SDK. */
import { codeOf } from '../ports/store-error.js'

/** Rethrows an import error. If the package is missing, the new error names the command that installs it. */
export function missingPeer(name: string, adapter: string): (error: unknown) => never {
  return (error) => {
    if (codeOf(error) !== 'ERR_MODULE_NOT_FOUND') throw error
    throw new Error(`${adapter} needs the package ${name}, which is not installed: npm install ${name}`, {
      cause: error,
    })
  }
}

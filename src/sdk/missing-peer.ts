/** An SDK that is not installed, said in a sentence: whoever imports a way in has to bring the SDK that it is for. */
import { codeOf } from '../ports/store-error.js'

/** Hands on why an SDK could not be loaded: with what to do, where it is not there. */
export function missingPeer(name: string, wayIn: string): (error: unknown) => never {
  return (error) => {
    if (codeOf(error) !== 'ERR_MODULE_NOT_FOUND') throw error
    throw new Error(`${wayIn} needs the package ${name}, which is not installed: npm install ${name}`, { cause: error })
  }
}

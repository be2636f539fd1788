/** Writes a report where `--html` says, or tells why not there. */
import { codeOf, sentenceOf } from '../ports/store-error.js'
import { InputError } from './errors.js'

/** Writes what `make` gives to a new file; gives its size. */
export async function writeReportFile(file: string, make: () => Promise<string>): Promise<number> {
  const { writeReport } = await import('../page/report-file.js')
  let isMade = true
  try {
    const { bytes } = await writeReport(file, async () => {
      isMade = false
      const text = await make()
      isMade = true
      return text
    })
    return bytes
  } catch (error) {
    throw isMade ? unwritable(error, file) : error
  }
}

/** Why the report cannot be written there. */
function unwritable(error: unknown, file: string): unknown {
  const code = codeOf(error)
  if (code === 'EEXIST')
    return new InputError('FileExists', `${file} is there already, and is not written over: name another file`)
  return code === undefined
    ? error
    : // The file that it begins with has a name of its own, which says nothing to anybody.
      new InputError('FileUnusable', `${file} cannot be written: ${sentenceOf(error).replace(/, \w+ '.*$/u, '')}`)
}

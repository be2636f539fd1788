/** Writes the report file of `--html`. */
import { LedgerError } from '../lib/ledger-error.js'
import { codeOf, sentenceOf } from '../ports/store-error.js'

/** Writes the text that `make` returns to a new file. Returns the size in bytes. */
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

/** A `LedgerError` with the reason why the file cannot be written. */
function unwritable(error: unknown, file: string): unknown {
  const code = codeOf(error)
  if (code === 'EEXIST') return new LedgerError('FileExists', `${file} already exists: choose another file`)
  return code === undefined
    ? error
    : // The message ends with the name of a temporary file, which is removed.
      new LedgerError('FileUnusable', `${file} cannot be written: ${sentenceOf(error).replace(/, \w+ '.*$/u, '')}`)
}

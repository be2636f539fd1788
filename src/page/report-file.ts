/** The report of one conversation, written to a file that is not there yet. */
import { writeFile } from 'node:fs/promises'
import { reportOf, type ReportOptions } from './report.js'

/** Writes the report; a file that is there already is never written over. */
export async function writeReport(file: string, options: ReportOptions): Promise<{ readonly bytes: number }> {
  const text = await reportOf(options)
  await writeFile(file, text, { flag: 'wx' })
  return { bytes: Buffer.byteLength(text) }
}

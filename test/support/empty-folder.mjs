/**
 * The files of an empty database, for the folders that tests create. Unpacking the template takes three times as long as
 * copying its files.
 */
import { PGlite } from '@electric-sql/pglite'
import { NodeFS } from '@electric-sql/pglite/nodefs'
import { cpSync, existsSync, mkdirSync, renameSync, rmSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { findTemplate, readTemplate } from './template-file.mjs'

const folder = fileURLToPath(new URL('../../dist/test/empty-folder', import.meta.url))

/** Unpacks the template, unless its files are newer. */
export async function writeEmptyFolder() {
  const template = await findTemplate()
  if (existsSync(folder) && statSync(folder).mtimeMs > statSync(template).mtimeMs) return
  const draft = `${folder}.${String(process.pid)}`
  mkdirSync(dirname(folder), { recursive: true })
  const umask = process.umask(0o077)
  try {
    const db = new PGlite({ fs: new NodeFS(draft), loadDataDir: await readTemplate() })
    await db.waitReady
    await db.close()
  } finally {
    process.umask(umask)
  }
  rmSync(folder, { recursive: true, force: true })
  renameSync(draft, folder)
}

export const copyEmptyFolder = (to) => {
  cpSync(folder, to, { recursive: true })
}

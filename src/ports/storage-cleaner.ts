/**
 * Removes the remains of deleted rows from the files of the database: old versions of rows, samples in statistics, and
 * write-ahead log. Resolves to false if the server does not allow it; its operator must then do it.
 */
export type CleanStorage = () => Promise<boolean>

/** The storage of a registry: blobs by digest for all repositories, manifests and tags by repository. */
export interface RegistryStore {
  blob(repository: string, digest: string): Promise<StoredBlob | undefined>;
  /** A place for a blob that is being uploaded. */
  upload(): Promise<BlobUpload>;
  /** Makes a blob that is there for one repository known to another. */
  link(repository: string, digest: string): Promise<boolean>;
  manifest(repository: string, reference: string): Promise<StoredManifest | undefined>;
  putManifest(repository: string, manifest: StoredManifest, tag: string | undefined): Promise<void>;
  /** Sorted; undefined when there is no such repository. */
  tags(repository: string): Promise<readonly string[] | undefined>;
  remove(repository: string, reference: string): Promise<boolean>;
}

export interface StoredBlob {
  readonly size: number;
  /** Its bytes from there to (not with) there. */
  read(start: number, end: number): AsyncIterable<Uint8Array>;
}

export interface BlobUpload {
  readonly size: number;
  write(chunk: Uint8Array): Promise<void>;
  /** Keeps the blob if it has this digest; undefined otherwise. */
  commit(repository: string, digest: string): Promise<StoredBlob | undefined>;
  discard(): Promise<void>;
}

export interface StoredManifest {
  readonly digest: string;
  readonly mediaType: string;
  readonly body: Buffer;
}

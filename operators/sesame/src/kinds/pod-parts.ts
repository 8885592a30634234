// Parts of workloads in a SesameDeployment, with the fields of Kubernetes: a field with a typo is refused.
import { anyObject, array, boolean, intOrString, map, object, string } from '@capstan/kube';

const count = (description: string) => intOrString({ optional: true, description });

/** The update strategy of a Deployment or a DaemonSet. */
export const updateStrategy = (of: string) =>
  object(
    {
      type: string({
        optional: true,
        description: 'RollingUpdate, Recreate (a Deployment) or OnDelete (a DaemonSet).',
      }),
      rollingUpdate: object(
        {
          maxSurge: count('Pods above the count, or a percentage.'),
          maxUnavailable: count('Pods that may be missing, or a percentage.'),
        },
        { optional: true },
      ),
    },
    { optional: true, description: `Update strategy of the ${of}.` },
  );

const quantities = (description: string) => map(intOrString(), { optional: true, description });

export const resources = () =>
  object(
    {
      limits: quantities('The most that the container gets.'),
      requests: quantities('The least that the container gets.'),
      claims: array(object({ name: string(), request: string({ optional: true }) }), { optional: true }),
    },
    { optional: true, description: 'Requests and limits of the container.' },
  );

/** The sources of volumes; the fields of each are those of Kubernetes. */
const SOURCES = (
  'awsElasticBlockStore azureDisk azureFile cephfs cinder configMap csi downwardAPI emptyDir ephemeral fc ' +
  'flexVolume flocker gcePersistentDisk gitRepo glusterfs hostPath image iscsi nfs persistentVolumeClaim ' +
  'photonPersistentDisk portworxVolume projected quobyte rbd scaleIO secret storageos vsphereVolume'
).split(' ');

const source = () => anyObject({ optional: true });

export const volumes = () =>
  array(object({ name: string(), ...Object.fromEntries(SOURCES.map((name) => [name, source()])) }), {
    optional: true,
    description: 'Volumes of the pod besides its own.',
  });

const text = () => string({ optional: true });

export const volumeMounts = () =>
  array(
    object({
      name: string(),
      mountPath: string(),
      mountPropagation: text(),
      readOnly: boolean({ optional: true }),
      recursiveReadOnly: text(),
      subPath: text(),
      subPathExpr: text(),
    }),
    { optional: true, description: 'Where extraVolumes are mounted.' },
  );

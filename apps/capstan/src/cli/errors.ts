// Every error of the command line's own; exit code 1. Mistakes in the command itself are UsageErrors.
import { CodedError, errorMakers } from '@capstan/kube/values';

export const CliErrors = errorMakers(
  {
    NoOperators: (command: string) => ({
      message: `${command} has no operator to work with: --operators names none`,
      remedy: `load one with --operator FILE, as in ${command} --operator docs/examples/website-operator.ts`,
    }),
    OperatorNotFound: (file: string) => ({
      message: `cannot load the operator ${file}: there is no such file`,
      remedy: 'check the path',
    }),
    OperatorBroken: (file: string, problem: string, cause: unknown, remedy = 'correct the module') => ({
      cause,
      message: `cannot load the operator ${file}: ${problem}`,
      remedy,
    }),
    NotAnOperator: (file: string) => ({
      message: `the module ${file} exports no operator`,
      remedy: 'export operator({...}) as its default or under the name "operator"',
    }),
    SameOperator: (name: string) => ({
      message: `two operators are named "${name}"`,
      remedy: 'give one of them another name, or leave one out',
    }),
    UnknownKind: (name: string, near: string | undefined) => ({
      message: `the cluster has no kind "${name}"`,
      remedy: near === undefined ? 'check its name, and that its CRD is installed' : `did you mean "${near}"?`,
    }),
    NoSuchObject: (kind: string, key: string) => ({
      message: `there is no ${kind} ${key}`,
      remedy: 'check the name, and give its namespace with -n',
    }),
    NoSuchNamespace: (name: string) => ({
      message: `there is no namespace "${name}" in this cluster`,
      remedy: 'check the name (kubectl get namespaces), and the context',
    }),
    NoReplay: (path: string, problem: string) => ({
      message: `${path} cannot replay the recording: ${problem}`,
      remedy: 'give a checkout or a package of a version that has capstan replay',
    }),
    ReadOnlyReplay: () => ({
      message: 'a recording cannot be written to',
      remedy: 'leave out --allow-writes',
    }),
    OnlyWithReplay: () => ({
      message: '--until and --key are for a console of a recording',
      remedy: 'give the recording with --replay',
    }),
    CertificateOnLoopback: () => ({
      message: 'a console on a loopback address serves no TLS',
      remedy: 'leave --tls-certificate and --tls-key out, or give --listen-anywhere',
    }),
    HalfCertificate: () => ({
      message: 'a certificate and its key belong together, and one of them is missing',
      remedy: 'give both --tls-certificate and --tls-key, or none: then the console creates a certificate',
    }),
    Unreadable: (path: string, problem: string) => ({
      message: `cannot read ${path}: ${problem}`,
      remedy: 'check the path and its permissions',
    }),
    OpenCodeFolder: (folder: string) => ({
      message: `the folder ${folder}, for sockets of consoles, is not only yours`,
      remedy: 'remove it, or set XDG_RUNTIME_DIR to a folder of your own',
    }),
    NoSuchAction: (verb: string, object: string) => ({
      message: `there is no action ${verb} of ${object}`,
      remedy: 'only a DiscoveryBackend is drained and resumed',
    }),
    NoConsole: (context: string | undefined) => ({
      message: `no console${context === undefined ? '' : ` of the context "${context}"`} runs for this user`,
      remedy: 'start one with capstan console, or with capstan up',
    }),
    NoManifests: (place: string) => ({
      message: `${place} holds no manifest`,
      remedy: 'give YAML or JSON files with apiVersion, kind and metadata.name',
    }),
    BadKustomization: (folder: string, detail: string) => ({
      message: `the kustomization ${folder} cannot be built: ${detail}`,
      remedy: 'correct it; kubectl kustomize shows the same error',
    }),
    NoKustomize: (folder: string) => ({
      message: `the kustomization ${folder} cannot be built: neither kubectl nor kustomize is installed`,
      remedy: 'install kubectl, or build it elsewhere and give the result with -f',
    }),
    OtherNamespace: (place: string, object: string, namespace: string, given: string) => ({
      message: `${place}: ${object} is in the namespace ${namespace}, and -n names ${given}`,
      remedy: `leave -n out, or give -n ${namespace}`,
    }),
    BadManifest: (place: string, problem: string) => ({
      message: `${place} is not a manifest: ${problem}`,
      remedy: 'correct the file there',
    }),
    NotServed: (place: string, object: string, apiVersion: string) => ({
      message: `${place}: ${object} cannot be planned, because the cluster does not serve its kind in ${apiVersion}`,
      remedy: 'install its CRD (capstan install), or give the CRD with -f as well',
    }),
    NoNamespace: (place: string, object: string, namespace: string) => ({
      message: `the server would refuse ${object} of ${place}: the namespace ${namespace} does not exist`,
      remedy: `create it (kubectl create namespace ${namespace}), or give its manifest with -f as well`,
    }),
    BadManifests: (problems: readonly string[]) => ({
      message: `${problems.length} manifests cannot be planned:\n${problems.map((one) => `  ${one}`).join('\n')}\n`,
      remedy: 'nothing is planned before they are corrected or left out',
    }),
    OtherCluster: (place: string, object: string, here: string) => ({
      message: `${place}: ${object} has the uid of another object; in this cluster it ${here}: it is of another cluster, or was recreated`,
      remedy: 'choose its cluster with --context, or remove metadata.uid and metadata.resourceVersion',
    }),
    Refused: (place: string, object: string, detail: string) => ({
      message: `the server would refuse ${object} of ${place}: ${detail}`,
      remedy: 'correct the manifest',
    }),
    Conflicting: (tool: string, object: string, place: string, detail: string) => ({
      message: `${tool} would fail for ${object} of ${place}: ${detail}`,
      remedy: 'give --force-conflicts if the tool will be run with it, or leave these fields out',
    }),
    CannotApply: (object: string, tool: string) => ({
      message: `${object} cannot be applied here: only ${tool} can do that, or the server could not be asked by a dry run`,
      remedy: 'apply it with that tool, or leave it out; nothing has been written',
    }),
    NotSeen: (count: string) => ({
      message: `the plan is not applied: you may not read ${count} that it depends on`,
      remedy: 'apply it with a user who may read them; nothing has been written',
    }),
    PlanRefused: (count: string) => ({
      message: `the plan is not applied: the server would refuse ${count} of the operators`,
      remedy: 'correct the manifests; nothing has been written',
    }),
    PlanChanged: () => ({
      message:
        'the plan is not applied: something changed in the cluster since it was made, and it would be another one now',
      remedy: 'run this again and look at the new plan; nothing has been written',
    }),
    ChangedSince: (object: string, done: number) => ({
      message: `${object} was changed by another client since the plan was made`,
      remedy: `run this again and look at the new plan; ${done === 0 ? 'nothing has been written' : `${done} of the manifests before it have been applied`}`,
    }),
    NotVisible: (object: string, detail: string) => ({
      message: `what a change of ${object} would do is not known: ${detail}`,
      remedy: 'plan with a user who may read it',
    }),
    NotSynced: (seconds: number, waitingFor: readonly string[]) => ({
      message: `the caches did not fill within ${seconds} s; still missing: ${waitingFor.join('; ')}`,
      remedy: 'check the permissions (capstan rbac) and the API server, or give a longer --timeout',
    }),
    NoNodeYet: (cluster: string) => ({
      message: `the node of cluster ${cluster} has not started yet`,
      remedy: 'try again in a moment',
    }),
    BadDemo: (file: string) => ({
      message: `${file} does not export how to prepare the demonstration; its default export must be a function`,
      remedy:
        'export default async function prepare({ data, clusters, signal }), which returns the variables of the manifests',
    }),
    InstallForbidden: (object: string, detail: string) => ({
      message: `${object} cannot be applied: ${detail}`,
      remedy: 'install with an account that may create it, or print the manifests with -o yaml for an administrator',
    }),
    NothingNamespaced: (parts: readonly string[], command: string | undefined) => ({
      message: `nothing can be installed with Roles alone:\n  ${parts.join('\n  ')}`,
      remedy:
        command === undefined
          ? 'ask an administrator to run capstan install'
          : `ask an administrator to run: ${command}`,
    }),
    NoMaxRole: (role: string) => ({
      message: `the ClusterRole ${role}, which is to bound the rights of packages, is not there`,
      remedy: 'create it, or leave out --crossplane-max-role',
    }),
    InstalledElsewhere: (namespace: string) => ({
      message: `Capstan is already installed in this cluster, in the namespace ${namespace}`,
      remedy: `use -n ${namespace}, or remove it first: capstan uninstall -n ${namespace}`,
    }),
    NotInstalledYet: (namespace: string) => ({
      message: `Capstan is not installed in the namespace ${namespace}`,
      remedy: 'install it first: capstan install; or name its namespace with -n',
    }),
    UpgradeNotConfirmed: () => ({
      message: 'the upgrade would change more than the programs themselves, and there is no terminal to confirm it',
      remedy: 'read what it would do (capstan plan upgrade), and add --yes',
    }),
    SharedProgram: (others: readonly string[], namespace: string) => ({
      message: `Deployment ${namespace}/capstan-operators: runs ${others.join(', ')} too, which --operators does not name`,
      remedy: `add ${others.length === 1 ? 'it' : 'them'} to --operators`,
    }),
    NamespaceGoing: (namespace: string) => ({
      message: `the namespace ${namespace} is being deleted`,
      remedy: 'wait until it is deleted, or use another one with -n',
    }),
    ServerTooOld: (version: string, oldest: string) => ({
      message: `the API server is too old: it is Kubernetes ${version}, and Capstan needs ${oldest} or newer`,
      remedy: 'upgrade the cluster, or use another with --context',
    }),
    KindNotServed: (apiVersion: string, kind: string) => ({
      message: `the API server does not serve ${kind} in ${apiVersion}`,
      remedy: 'use a cluster of Kubernetes 1.28 or newer',
    }),
    NotReady: (operator: string, problem: string, wasRestored: boolean) => ({
      message: `the operator ${operator} did not become ready: ${problem}${wasRestored ? '; its Deployment is as it was before' : ''}`,
      remedy: 'correct that and run this again, or give a longer --timeout',
    }),
    ObjectsLeft: (counted: string) => ({
      message: `there are objects of these operators: ${counted}`,
      remedy:
        'delete them with --delete-objects (and with them what they created), or keep them and their definitions with --keep-objects',
    }),
    NotOfAnOperator: (kind: string) => ({
      message: `${kind} is not a kind of an operator`,
      remedy: 'capstan status shows those of operators; kubectl describe shows others',
    }),
    GatewayImage: (image: string) => ({
      message: `the image of gateways does not follow from ${image}, which has a digest`,
      remedy: 'name the image of gateways with --submariner.image',
    }),
    NotGone: (what: string) => ({
      message: `still there after the time that was given: ${what}`,
      remedy: 'capstan status shows what holds them; run this again, or give a longer --timeout',
    }),
    ContextTaken: (file: string, entry: string) => ({
      message: `${file} has a ${entry} already, which is not of this cluster`,
      remedy: 'rename or remove it, or leave --merge-kubeconfig out',
    }),
    BadKubeconfig: (file: string, problem: string) => ({
      message: `${file} cannot be changed: ${problem}`,
      remedy: 'correct it, or leave --merge-kubeconfig out',
    }),
    NoLog: (log: string, problem: string) => ({
      message: `cannot write to ${log}: ${problem}`,
      remedy: 'check that the folder exists and is writable, or choose another with --data',
    }),
    DetachedEnded: (lines: string, log: string) => ({
      message: `the cluster ended before it was ready:\n  ${lines}\n`,
      remedy: `its whole log is ${log}`,
    }),
    RunsAlready: (pid: number, data: string) => ({
      message: `a cluster runs in ${data} already (pid ${pid})`,
      remedy: `stop it with capstan down --data ${data}, or use another folder with --data`,
    }),
    RunsStill: (pid: number, data: string) => ({
      message: `the cluster in ${data} runs (pid ${pid})`,
      remedy: `stop it first: capstan down --data ${data}`,
    }),
    StillRunning: (pid: number, data: string) => ({
      message: `the cluster in ${data} (pid ${pid}) has not ended in time`,
      remedy: 'run this again, or give a longer --timeout',
    }),
    NotADataFolder: (data: string) => ({
      message: `${data} is not deleted: it is not the data folder of a cluster, or has other files in it`,
      remedy: 'check --data; what is not of the cluster must be moved away first',
    }),
    NotConfirmed: (data: string) => ({
      message: `${data} is not deleted: there is no terminal to confirm it`,
      remedy: 'give --yes',
    }),
    PartEnded: () => ({
      message: 'a part of the cluster ended by itself',
      remedy: 'the log shows which one and why; start it again with --log-level debug to see more',
    }),
  },
  (key, text, options) => new CodedError(`capstan/${key}`, text, options),
);
